"""The gate and the review rate every command alike: where one warns, so does the other (F90)."""

from collections.abc import Iterator
from shlex import split

import pytest
from tests.shell.lists import CORPUS, every, listed

from assent.core.permission.command_analysis import CommandAnalysis
from assent.core.permission.rule import PermissionPolicy
from assent.core.plan.operation import RunCommand
from assent.core.tool import Action, PermissionContext, ResourceAccess, Verdict
from assent.permissions.commands.classifier import classify_command_line
from assent.permissions.commands.predicted_effects import PredictedEffects, predict_effects
from assent.permissions.gate import RuleGate
from assent.permissions.operation_risks import RiskInput, operation_risks
from assent.permissions.risk_rating import LEVELS

ROOT, HOME = "/srv/app", "/home/ada"
NAMED = (
    "supabase db push", "pnpx foo", "npx foo", "railway up", "hub sync", "stripe listen",
    "git clean -fd", "git rebase main", "git config core.hooksPath x", "npm publish",
    "helm install x", "bundle install", "composer require a/b", "mix deps.get", "deno add x",
    "dotnet restore", "git restore .", "git checkout -- a", "git reset --hard",
    "rsync -a --delete a/ b/", "make install", "dpkg -i a.deb", "python3 -m pip install x",
    "psql -c 'drop table a'", "kill 5", "chmod -R 777 a", "cargo fetch", "go mod tidy",
    "twine upload x", "docker ps", "gh pr create", "ping a", "whois b", "touch a", "make",
    "pytest -q", "ls", "rm a", "echo a > b", "cp a b",
)  # fmt: skip


def read(line: str) -> CommandAnalysis:
    return classify_command_line(line, root=ROOT, home=HOME)


GATE = RuleGate(PermissionPolicy((), ROOT, HOME), read)


def lines() -> Iterator[str]:
    yield from NAMED
    for kind in ("runs", "refused"):
        yield from every(kind)
    for path in sorted(CORPUS.glob("*.txt")):
        yield from listed(path)


def level(line: str) -> int:
    return LEVELS.index(GATE.risk([ResourceAccess(Action.SHELL, line)])[0])


def told(line: str) -> PredictedEffects:
    command = RunCommand((), line.encode("utf-8", "surrogateescape"))
    return predict_effects(command, read(line), ROOT)


def disagrees(line: str) -> str:
    """Says in which way gate and review see a line differently; nothing if they do not."""
    rated, seen = level(line), told(line)
    if (seen.installs or seen.network or seen.outside or seen.danger) and rated < LEVELS.index(
        "high"
    ):
        return f"review warns, the gate does not: {line!r}"
    if (seen.deletes or seen.protected) and rated < LEVELS.index("medium"):
        return f"review warns, the gate says low: {line!r}"
    if seen.touches and read(line).reads is None and rated < LEVELS.index("high"):
        return f"review finds a protected name, the gate does not: {line!r}"
    warned = seen.installs or seen.network or seen.outside or seen.deletes or seen.protected
    named = warned or seen.danger or seen.unclear or seen.doubtful or seen.touches or seen.lookalike
    if rated == LEVELS.index("high") and not named:
        return f"the gate says high, review nothing: {line!r}"
    return ""


def test_no_line_of_any_corpus_is_rated_differently() -> None:
    assert len([*lines()]) > 1000
    assert [found for line in lines() if (found := disagrees(line))] == []


@pytest.mark.parametrize("line", ["supabase db push", "pnpx foo"])
def test_the_stricter_of_two_tables_holds_in_both(line: str) -> None:
    assert level(line) == LEVELS.index("high")
    assert told(line).network
    assert told(line).installs == (split(line)[0] == "pnpx")


NAMING = tuple(
    line.replace("@", name)
    for name in ("AGENTS.md", ".cursorrules", "sub/CLAUDE.md", ".claude/settings.json")
    for line in (
        "find a.txt -fprint @", "git show HEAD:a.txt --output=@", "echo @ | xargs touch",
        "python3 -c \"open('@','w').write('x')\"", "perl -e 'open(F,\">@\");print F 1'",
        "node -e \"require('fs').writeFileSync('@','x')\"", "echo x | tee @", "tool -o@",
        "python3 - <<'E'\nopen('@','w')\nE", "printf '@\\n' | xargs touch", "X=@ tool", "cp a @",
        "echo x > @", "tool --to=''@", "cd sub && tool @", "sed -i s/a/b/ @", "git checkout @",
    )
)  # fmt: skip
LOOKING = ("cat AGENTS.md", "grep x AGENTS.md", "git log -- AGENTS.md", "rg AGENTS.md")


@pytest.mark.parametrize("line", NAMING)
def test_a_line_that_names_orders_for_agents_is_protected_in_both(line: str) -> None:
    command = RunCommand((), line.encode())
    assert "protected" in operation_risks(command, RiskInput(line=read(line), root=ROOT))
    assert told(line).protected
    assert level(line) == LEVELS.index("high")
    decision = GATE.decide(
        [ResourceAccess(Action.SHELL, line)], PermissionContext("yolo", auto=True)
    )
    assert decision.verdict is Verdict.ASK
    assert GATE.is_mandatory_ask([ResourceAccess(Action.SHELL, line)], PermissionContext("yolo"))


@pytest.mark.parametrize("line", LOOKING)
def test_a_line_that_only_reads_them_is_free_at_the_gate(line: str) -> None:
    asked = [ResourceAccess(Action.SHELL, line)]
    assert (level(line), read(line).names, told(line).protected) == (0, (), False)
    assert GATE.decide(asked, PermissionContext("yolo")).verdict is Verdict.RUN
    assert not GATE.is_mandatory_ask(asked, PermissionContext("yolo"))


def test_a_line_without_its_reader_is_told_by_the_same_table() -> None:
    for line in ("supabase db push", "pnpx foo", "rm a"):
        words = tuple(word.encode() for word in split(line))
        rough, exact = predict_effects(RunCommand(words)), told(line)
        assert (rough.installs, rough.network, rough.deletes) == (
            exact.installs, exact.network, exact.deletes,
        )  # fmt: skip
