"""F72, F75 and F80: what rules keep from programs, and where a command may write besides."""

import pytest

from assent.core.permission.mode import Mode
from assent.core.permission.rule import (
    Grant,
    PathLimits,
    PermissionPattern,
    PermissionPolicy,
    RuleLayer,
    parse_rules,
)
from assent.core.permission.sensitive_paths import RESERVED_PATHS
from assent.core.session.agent import Agent
from assent.core.tool import Action, PermissionContext, ResourceAccess, Verdict
from assent.permissions.commands.classifier import classify_command_line
from assent.permissions.commands.read_only.classifier import files_read_by
from assent.permissions.gate import RuleGate

ROOT = "/srv/app"
READ, EDIT = Action.READ, Action.EDIT


def gate(*tables: object) -> RuleGate:
    """A gate with the user's table and, in the layer after it, that of the command line."""
    names = ("user", "command line")
    layers = tuple(RuleLayer(n, parse_rules(t)) for n, t in zip(names, tables, strict=False))  # type: ignore[arg-type]
    return RuleGate(
        PermissionPolicy(layers, ROOT, "/home/ada"), classify_command_line, files_read_by
    )


def fence(*tables: object, mode: Mode = "ask") -> PathLimits:
    found = gate(*tables).path_limits(PermissionContext(mode))
    assert found is not None
    return found


def hidden(found: PathLimits, path: str, *, folder: bool = False) -> bool:
    return found.hides is not None and found.hides(path.encode(), folder)


def kept(found: PathLimits, path: str, *, folder: bool = False) -> bool:
    return found.keeps is not None and found.keeps(path.encode(), folder)


@pytest.mark.parametrize(
    "table",
    ["allow", "ask", {"bash": {"rm *": "deny"}}, {"read": {"~/.ssh/*": "deny", "/etc/*": "deny"}},
     {"edit": "ask", "read": {"*": "ask"}}, {"edit": {"sec/*": "ask"}}],
)  # fmt: skip
def test_where_rules_keep_nothing_there_is_only_the_fence_around_orders_for_agents(
    table: object,
) -> None:
    found = fence(table)
    assert (found.hides, found.named) == (None, RESERVED_PATHS)
    assert not any(kept(found, path) for path in ("a.py", "sec/a", "docs/opencode.md", ""))
    for path in (".claude/settings.json", "sub/AGENTS.md", "opencode.json", ".mcp.json"):
        assert kept(found, path), path
    assert kept(found, ".claude", folder=True)
    assert not kept(found, "node_modules/x/AGENTS.md")


def test_f72_a_folder_is_kept_as_a_whole_only_if_a_rule_covers_all_in_it() -> None:
    found = fence({"read": {"*": "allow", "sec/*": "deny"}})
    assert hidden(found, "sec", folder=True)
    assert hidden(found, "sec/in", folder=True)
    assert not hidden(found, "sec")
    assert not hidden(found, "second", folder=True)
    assert not hidden(found, "", folder=True)
    assert hidden(fence({"read": {f"{ROOT}/sec/*": "deny"}}), "sec", folder=True)
    assert hidden(fence({"read": "deny"}), "", folder=True)
    assert not hidden(fence({"read": {"*.py": "deny"}}), "a.py", folder=True)
    assert not hidden(fence({"read": {"sec/ *": "deny"}}), "sec", folder=True)


def test_f72_an_exception_below_opens_a_folder_and_its_files_are_told_apart() -> None:
    found = fence({"read": {"sec/*": "deny", "sec/open/*": "allow"}})
    assert not hidden(found, "sec", folder=True)
    assert (hidden(found, "sec/a"), hidden(found, "sec/open/a")) == (True, False)
    assert hidden(found, "sec/other", folder=True)
    before = fence({"read": {"sec/open/*": "allow", "sec/*": "deny"}})
    assert hidden(before, "sec", folder=True)


def test_f72_a_deny_of_any_layer_keeps_whatever_the_next_one_allows() -> None:
    found = fence({"read": {"sec/*": "deny"}}, {"read": "allow"})
    assert hidden(found, "sec", folder=True)
    asks = fence({"read": {"sec/*": "ask", "x": "deny"}}, {"read": {"sec/a": "allow"}})
    assert not hidden(asks, "sec", folder=True)
    assert (hidden(asks, "sec/a"), hidden(asks, "sec/b")) == (False, True)


@pytest.mark.parametrize(("mode", "is_hidden"), [("plan", True), ("ask", True), ("yolo", False)])
def test_f72_a_question_keeps_named_files_where_it_would_be_asked(
    mode: Mode, is_hidden: bool
) -> None:
    found = gate({"read": {"sec/*": "ask"}}).path_limits(PermissionContext(mode))
    assert (found is not None and hidden(found, "sec/a")) is is_hidden


def test_f72_a_remembered_yes_opens_what_was_asked_about() -> None:
    yes = (PermissionPattern("read", "sec/a"),)
    grant = Grant("g", "session", "s", "build", "ask", yes, "2026-01-01T00:00:00Z")
    posture = PermissionContext("ask", agents=(Agent("build"),), grants=(grant,))
    judge = gate({"read": {"sec/*": "ask", "no": "deny"}})
    assert judge.decide((ResourceAccess(READ, "sec/a"),), posture).verdict is Verdict.RUN
    found = judge.path_limits(posture)
    assert found is not None
    assert not hidden(found, "sec", folder=True)
    assert [hidden(found, path) for path in ("sec/a", "sec/b", "no")] == [False, True, True]


def test_f72_limits_have_the_same_key_in_another_process_only_for_the_same_rules() -> None:
    tables: list[tuple[object, ...]] = [
        ({"read": {"sec/*": "deny"}},),
        ({"read": {"sec/*": "ask"}},),
        ({"read": {"se/*": "deny"}},),
        ({"read": {"sec/*": "deny", "sec/a": "allow"}},),
        ({"read": {"sec/a": "allow", "sec/*": "deny"}},),
        ({"read": {"sec/*": "deny"}}, {"read": {"sec/*": "deny"}}),
        ({"read": {"sec/*": "deny"}, "edit": {"sec/*": "deny"}},),
    ]
    found = [fence(*each, mode="plan") for each in tables]
    keys = [limits.hides_key for limits in found]
    assert all(keys)
    assert [limits.hides_key for limits in (fence(*each, mode="plan") for each in tables)] == keys
    assert len(set(keys[:-1])) == len(keys) - 1
    assert keys[-1] == keys[0]  # what is denied to edits does not count for what is hidden
    assert [bool(limits.keeps_key) for limits in found] == [False] * 6 + [True]


def test_f72_limits_that_answers_decide_about_have_no_key() -> None:
    yes = (PermissionPattern("read", "sec/a"),)
    grant = Grant("g", "session", "s", "build", "ask", yes, "2026-01-01T00:00:00Z")
    posture = PermissionContext("ask", agents=(Agent("build"),), grants=(grant,))
    granted = gate({"read": {"sec/*": "ask"}}).path_limits(posture)
    opened = gate().path_limits(PermissionContext("ask", opened=(".claude/a.json",)))
    ruled = gate({"edit": {"src/*": "deny"}}).path_limits(PermissionContext("yolo"))
    plain = gate().path_limits(PermissionContext("yolo"))
    assert granted is not None
    assert opened is not None
    assert ruled is not None
    assert plain is not None
    assert (granted.hides_key, opened.keeps_key, ruled.keeps_key) == (b"", b"", b"")
    assert plain.keeps_key


def test_f75_an_agents_own_rules_keep_files_from_its_commands() -> None:
    agent = Agent("docs", rules=parse_rules({"edit": {"src/*": "deny"}}))
    judge = gate("allow")
    found = judge.path_limits(PermissionContext("yolo", agents=(agent,)))
    assert found is not None
    assert kept(found, "src", folder=True)
    assert (found.named, found.hides) == ((b"src", *RESERVED_PATHS), None)
    assert judge.path_limits(PermissionContext("yolo", agents=(agent,))) is found
    other = judge.path_limits(PermissionContext("yolo", agents=(Agent("other"),)))
    assert other is not None
    assert not kept(other, "src", folder=True)


def test_programs_change_orders_for_agents_only_where_the_person_named_them() -> None:
    for table in ("allow", {"edit": {"*": "allow"}}, {"edit": {f"{ROOT}/*": "allow"}}):
        assert kept(fence(table, mode="yolo"), ".claude", folder=True), table
    named = fence({"edit": {".claude/*": "allow"}})
    assert not kept(named, ".claude", folder=True)
    assert not kept(named, ".claude/settings.json")
    assert kept(named, "opencode.json")
    assert b".claude" not in named.named
    opened = gate().path_limits(PermissionContext("ask", opened=(".claude/a.json",)))
    assert opened is not None
    assert not kept(opened, ".claude", folder=True)
    assert (kept(opened, ".claude/a.json"), kept(opened, ".claude/b.json")) == (False, True)


def test_a_bare_question_about_reading_is_asked_for_a_command_that_names_no_file() -> None:
    judge = gate({"read": "ask"})
    for line in ("rg secret", "git grep secret", "cd src && rg secret"):
        decision = judge.decide((ResourceAccess(Action.SHELL, line),), PermissionContext("plan"))
        assert decision.verdict is Verdict.ASK, line


REACHED = (
    "mv k.txt sec/", "mv k.txt sec", "cp -t sec notes.txt", "cp -tsec notes.txt", "rm -r sec",
    "cp --target-directory=sec a", "cp --target-directory sec a", "find sec -name y4 -delete",
    "find sec -exec touch {} +", "tar xf a.tar -C sec", "tar -xf a.tar --directory=sec",
    "git checkout -- sec", "git restore sec", "git clean -fd sec", "git rm -r sec",
    "rsync -a x sec", "git -C sec clean -f", "unzip a.zip -d sec", "cd sec && rm -r in",
    "mv sec other",
    "rsync x sec/", "ln -s a sec", "install -t sec a", "chmod -R a+w sec", "cd sec; cp a in",
    "patch -d sec -i p",
    "rm -r ./sec", "rm -r sec/", "cp -r x lib/../sec", "git checkout main sec/a",
)  # fmt: skip
ELSEWHERE = (
    "mv k.txt other/",
    "cp -t lib notes.txt",
    "find . -name y4 -delete",
    "git checkout main",
    "tar xf a.tar",
    "rm -r second",
    "cp sec/a b",
    "git status",
    "git -C sec log",
    "rsync sec/a b",
)


@pytest.mark.parametrize("text", REACHED)
@pytest.mark.parametrize("mode", ["ask", "yolo"])
def test_f80_a_command_that_reaches_into_a_denied_folder_is_denied(text: str, mode: Mode) -> None:
    judge = gate({"edit": {"sec/*": "deny"}})
    assert (
        judge.decide((ResourceAccess(Action.SHELL, text),), PermissionContext(mode)).verdict
        is Verdict.DENY
    )


@pytest.mark.parametrize("text", ELSEWHERE)
def test_f80_a_command_that_only_seems_to_reach_there_is_not(text: str) -> None:
    judge = gate({"edit": {"sec/*": "deny"}})
    assert (
        judge.decide((ResourceAccess(Action.SHELL, text),), PermissionContext("yolo")).verdict
        is Verdict.RUN
    )


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("cp x/key.txt lib", Verdict.DENY),
        ("cp -t lib a x/key.txt", Verdict.DENY),
        ("mv --target-directory=lib a x/key.txt", Verdict.DENY),
        ("install -t lib x/key.txt", Verdict.DENY),
        ("cp x/key.txt other", Verdict.RUN),
        ("cp -t lib a x/lock.txt", Verdict.RUN),
    ],
)
def test_f80_a_file_that_is_copied_over_a_denied_one_is_denied(text: str, verdict: Verdict) -> None:
    judge = gate({"edit": {"lib/key.txt": "deny"}})
    decided = judge.decide((ResourceAccess(Action.SHELL, text),), PermissionContext("yolo"))
    assert decided.verdict is verdict
