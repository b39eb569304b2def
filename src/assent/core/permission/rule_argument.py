"""Rules as a person types them on the command line: `allow bash:git *`."""

from assent.core.errors import UsageError
from assent.core.permission.rule import PermissionRule, RuleAction

_ACTIONS_BY_WORD: dict[str, RuleAction] = {"allow": "allow", "ask": "ask", "deny": "deny"}
_ARGUMENT_SOURCE = "the command line"
_ARGUMENT_HELP = "assent --deny 'bash:git push *' \"GOAL\""


def parse_rule_argument(text: str) -> PermissionRule:
    """Returns the rule in an answer, a permission and perhaps a pattern; raises UsageError."""
    answer, _, about = text.partition(" ")
    permission, colon, pattern = about.strip().partition(":")
    if answer not in _ACTIONS_BY_WORD or not permission.strip() or (colon and not pattern):
        raise UsageError(
            f"{about!a} is no permission with a pattern, such as bash:git *.", _ARGUMENT_HELP
        )
    return PermissionRule(
        permission.strip(), pattern or "*", _ACTIONS_BY_WORD[answer], source=_ARGUMENT_SOURCE
    )
