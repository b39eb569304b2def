"""Rules as a person types them on the command line: `allow bash:git *`."""

from assent.core.errors import UsageError
from assent.core.rules import Answer, Rule

ANSWERS: dict[str, Answer] = {"allow": "allow", "ask": "ask", "deny": "deny"}
SOURCE = "the command line"
HELP = "assent --deny 'bash:git push *' \"GOAL\""


def typed_rule(text: str) -> Rule:
    """Returns the rule in an answer, a permission and perhaps a pattern; raises UsageError."""
    answer, _, about = text.partition(" ")
    permission, colon, pattern = about.strip().partition(":")
    if answer not in ANSWERS or not permission.strip() or (colon and not pattern):
        raise UsageError(f"{about!a} is no permission with a pattern, such as bash:git *.", HELP)
    return Rule(permission.strip(), pattern or "*", ANSWERS[answer], source=SOURCE)
