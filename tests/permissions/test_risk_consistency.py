"""The gate and the review rate every command alike: where one warns, so does the other (F90)."""

from collections.abc import Iterator
from functools import cache
from shlex import split

import pytest
from msgspec.structs import replace
from tests.shell.lists import CORPUS, every, listed

from assent.config.permissions import DEV, INSTALLS, NETWORK, PRIVILEGED, PUBLISHES, SAFE
from assent.core.permission.command_analysis import CommandAnalysis, CommandEffectKind
from assent.core.permission.rule import PermissionPolicy
from assent.core.plan.operation import RunCommand
from assent.core.shell import process
from assent.core.tool import Action, PermissionContext, ResourceAccess, Verdict
from assent.permissions.commands.classifier import classify_command_line
from assent.permissions.commands.effects import command_effects
from assent.permissions.commands.predicted_effects import PredictedEffects, predict_effects
from assent.permissions.commands.programs import PROGRAMS, is_kind, known_program
from assent.permissions.commands.risk import GENERAL_REASONS
from assent.permissions.commands.targets import is_outside
from assent.permissions.gate import RuleGate
from assent.permissions.operation_risks import RiskInput, operation_risks
from assent.permissions.risk_rating import LEVELS
from assent.sandbox.profile.programs import _MANY

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
    # What one of two lists of programs or targets did not know.
    "tar xf a -C /opt", "bsdtar -xf a --directory=/opt", "unzip a.zip -d ../x", "patch -d ../o -p1",
    "fetch http://x", "wget -P /tmp http://x", "curl --output-dir /opt -O http://x", "cp a /tmp",
    "make -C ../other", "chmod +x ../x", "chown me /opt/a", "git --work-tree=/x checkout .",
    "find ../x -delete", "rsync -a a/ /opt/b", "cp a /srv/app", "tar xf a -C /srv/app",
    "echo x > .git/config", "echo x > .git/hooks/pre-commit", "mv .github old", "rm -r .github",
    "cp x /srv/app/.github/workflows", ": > a", "> a", "cp /dev/null a", "dd if=/dev/null of=a",
    "printf '' > a", "true && touch x", "truncate -s0 a", "echo -n > a", "apt list",
    "apt install x", "systemctl restart x", "rustup update", "nvm install 20", "docker push x",
    "pip3.12 install x", "python3.12 x.py", "python3 -m pip list", "kill 5", "ip addr",
    "journalctl -u x",
    "crontab -l", "chroot a b", "sed '/a/w /etc/f' b", "$x > /etc/hosts",
    "if $x; then pip install y; fi",
    "git commit -m 'fix (npm install fails)'", "bash -O extglob -c 'git push'",
    "aptitude install x", "trap 'git push' EXIT", "$tool sudo make", "cd /opt && touch a",
    "cd sub && touch ../../a",
    # What is named by an option or an operand only.
    "tar cf /opt/a .", "zip ../a x", "go build -o ../a", "git worktree add ../x", "7z a ../a x",
    "curl -sSLo../a https://x", "pip install --target=../a x", "cargo build --target-dir ../a",
    "git -C ../a commit -m x", "git clone https://x ../a", "gzip ../a", "python3 -m venv ../a",
    "CARGO_TARGET_DIR=../a cargo build", "make DESTDIR=/opt install", "ruff format ../a",
    "tar cf .git/hooks/pre-commit x", "sometool --output ../a", "tar xf ../a.tar", "zip a ../b",
)  # fmt: skip


@cache  # the gate and the review read each line, in several tests
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


SENTENCES: dict[CommandEffectKind, frozenset[str]] = {
    kind: frozenset(
        use.reason
        for program in PROGRAMS.values()
        for use in program.uses
        if kind in use.effects and use.reason
    )
    | {GENERAL_REASONS[kind][1]}
    for kind in ("installs", "network", "writes_outside", "deletes")
}
AWAY = ("It writes outside the workspace.", "It may write outside the workspace.")


def says(found: CommandAnalysis, kind: CommandEffectKind) -> bool:
    """Tells whether a reason of the gate is one that stands for an effect."""
    return any(reason[:-1].endswith(tuple(SENTENCES[kind])) for reason in found.reasons)


def answers_differ(line: str) -> str:
    """Says where the review has another answer than the gate about effects, targets, reasons."""
    found, seen = read(line), told(line)
    away = any(is_outside(path, root=ROOT) for path in (*found.writes, *found.perhaps))
    effects = (
        ("installs", seen.installs), ("network", seen.network), ("deletes", seen.deletes),
    )  # fmt: skip
    if any(answer != (kind in found.effects) for kind, answer in effects):
        return f"other effects: {line!r}"
    if (seen.danger, seen.doubtful) != (found.danger, not found.certain):
        return f"other doubts: {line!r}"
    if found.reads is not None:
        quiet = not found.effects and not seen.outside and not seen.protected
        return "" if quiet else f"it only reads, and something is said of it: {line!r}"
    if found.danger or not found.certain:
        return ""  # that is the reason, and it is told instead of others
    if seen.outside != (away or "writes_outside" in found.effects):
        return f"other places: {line!r}"
    if away and not {*AWAY} & {*found.reasons}:
        return f"the gate does not say that it leaves the workspace: {line!r}"
    high = [each for each in ("installs", "network", "writes_outside") if each in found.effects]
    if not all(says(found, each) for each in high):
        return f"the gate does not say why: {line!r}"
    if seen.protected and level(line) < LEVELS.index("high"):
        return f"the gate does not warn of what other programs obey: {line!r}"
    if found.effects == ("deletes",) and found.risk == "medium" and not says(found, "deletes"):
        return f"the gate does not say that it deletes: {line!r}"
    return ""


def test_gate_and_review_give_one_answer_about_effects_targets_and_reasons() -> None:
    assert [found for line in lines() if (found := answers_differ(line))] == []


def test_every_line_that_runs_while_planning_is_harmless_to_both() -> None:
    for line in every("runs"):
        assert read(line).reads is not None, line
        assert read(line).effects == (), line
        named = told(line).touches  # a protected name that is only read
        assert replace(told(line), touches=()) == PredictedEffects(), (line, named)


EXPECTED = {NETWORK: "network", INSTALLS: "installs", PUBLISHES: "publishes"}


def test_the_presets_of_rules_name_programs_that_the_table_knows() -> None:
    rules = [rule for rule in (*SAFE, *DEV) if rule.permission == "bash"]
    checked = [rule for rule in rules if rule.reason in EXPECTED]
    assert len(checked) > 50
    for rule in checked:
        assert EXPECTED[rule.reason] in read(rule.pattern.replace("*", "x")).effects, rule
    for rule in rules:
        if rule.reason == PRIVILEGED:
            found = read(rule.pattern.replace("*", "of=/x /x"))
            assert found.danger or found.risk == "high", rule


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


def test_a_line_that_is_not_certain_is_told_by_the_same_table() -> None:
    for line in ("supabase db push", "pnpx foo", "rm a"):
        rough, exact = told(f"{line}\n$tool"), told(line)
        assert rough.doubtful
        assert (rough.installs, rough.network, rough.deletes) == (
            exact.installs, exact.network, exact.deletes,
        )  # fmt: skip


def test_what_exit_codes_mean_is_said_of_programs_as_the_table_knows_them() -> None:
    """core cannot ask the table, so what it knows of wrappers, shells and git is held to it."""
    for shell in process._SHELLS:
        assert is_kind(shell, "shell"), shell
    for name, operands in process._WRAPPERS.items():
        spec = known_program(name).runs
        assert spec is not None, name
        assert spec.operands == operands, name
        taken = {option for option in process._VALUED if spec.size(option) == 1}
        assert not taken, (name, taken)  # it takes no value there
    assert known_program("git").before >= process._GIT_VALUED
    for name in process._PREDICATES:
        assert command_effects((name,)) == frozenset(), name


def test_programs_that_the_sandbox_does_not_take_for_one_run_others_by_the_table() -> None:
    for name in _MANY:
        assert known_program(name.decode()).runs is not None, name
