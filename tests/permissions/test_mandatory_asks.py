"""Fixed asks: what only a person's answer, or a rule of theirs that names the path, lets happen."""

from typing import Any

import msgspec
import pytest

from assent.config.permissions import PRESETS
from assent.core.permission.mode import MODES, Mode
from assent.core.permission.rule import (
    Grant,
    GrantScope,
    PermissionPattern,
    PermissionPolicy,
    PermissionRule,
    RuleLayer,
    RuleLayerName,
    parse_rules,
)
from assent.core.permission.sensitive_paths import configures_agents
from assent.core.session.agent import Agent
from assent.core.tool import Action, Decision, PermissionContext, ResourceAccess, Verdict
from assent.permissions.commands.classifier import classify_command_line
from assent.permissions.commands.read_only.classifier import files_read_by
from assent.permissions.gate import RuleGate

RUN, STAGE, ASK, DENY = Verdict.RUN, Verdict.STAGE, Verdict.ASK, Verdict.DENY
ROOT, HOME = "/srv/app", "/home/ada"
WORKING: tuple[Mode, ...] = ("ask", "auto-edit", "yolo")
BUILD = (Agent("build"),)


def layer(table: Any, name: RuleLayerName = "user", *, trusted: bool = True) -> RuleLayer:
    return RuleLayer(name, parse_rules(table, "config.toml"), trusted)


def gate(*layers: RuleLayer) -> RuleGate:
    return RuleGate(PermissionPolicy(layers, ROOT, HOME), classify_command_line, files_read_by)


def decided(
    request: ResourceAccess, posture: PermissionContext | Mode, *layers: RuleLayer
) -> Decision:
    posture = posture if isinstance(posture, PermissionContext) else PermissionContext(posture)
    return gate(*layers).decide([request], posture)


READS = {
    "a folder": ResourceAccess(Action.OUTSIDE, "/near/*"),
    "a file": ResourceAccess(Action.READ, "/near/a.txt"),
    "a file above": ResourceAccess(Action.READ, "../other/a.txt"),
    "a file at home": ResourceAccess(Action.READ, "~/a.txt"),
    "cat": ResourceAccess(Action.SHELL, "cat /near/a.txt"),
    "cat above": ResourceAccess(Action.SHELL, "cat ../a.txt"),
    "cd out": ResourceAccess(Action.SHELL, "cd /near && ls"),
    "ls": ResourceAccess(Action.SHELL, "ls /near"),
    "cp": ResourceAccess(Action.SHELL, "cp /near/a.txt ."),
    "mv": ResourceAccess(Action.SHELL, "mv /near/a.txt b"),
    "ln": ResourceAccess(Action.SHELL, "ln -s /near/a.txt b"),
    "input": ResourceAccess(Action.SHELL, "make < /near/a.txt"),
    "an option": ResourceAccess(Action.SHELL, "tool --file=/near/a.txt"),
    "an attached option": ResourceAccess(Action.SHELL, "tool -f/near/a.txt"),
    "at": ResourceAccess(Action.SHELL, "tool -d @/near/a.txt"),
    "dd": ResourceAccess(Action.SHELL, "dd if=/near/a.txt of=b"),
    "home": ResourceAccess(Action.SHELL, "cp ~/a.txt ."),
    "a variable for home": ResourceAccess(Action.SHELL, 'cp "$HOME/a.txt" .'),
    "a variable": ResourceAccess(Action.SHELL, "X=/near/a.txt; cp $X ."),
    "braces": ResourceAccess(Action.SHELL, "cp {/near/a.txt,b} c"),
    "a wildcard": ResourceAccess(Action.SHELL, "cp /near/* ."),
    "a folder of git": ResourceAccess(Action.SHELL, "git -C /near commit -m x"),
    "a script": ResourceAccess(Action.SHELL, "bash -c 'cp /near/a.txt .'"),
    "xargs": ResourceAccess(Action.SHELL, "make | xargs -I{} cp /near/a.txt {}"),
    "in a substitution": ResourceAccess(Action.SHELL, "make $(cat /near/a.txt)"),
    "a sub-shell that went": ResourceAccess(Action.SHELL, "(cd src); cp ../a.txt b"),
    "a file URL": ResourceAccess(Action.SHELL, "tool file:///near/a.txt"),
    "a test": ResourceAccess(Action.SHELL, "test -f /near/a.txt && make"),
    **{
        line: ResourceAccess(Action.SHELL, line)
        for line in (
            """python3 -c "print(open('/etc/passwd').read()[:20])\"""",
            """python3.12 -c "open('/near/a.txt')\"""",
            """python3 -c'open("/near/a.txt")'""",
            """node --eval="require('fs').readFileSync('/near/a.txt')\"""",
            """python3 -c "open('/usr/../etc/passwd')\"""",
            """python3 -c "open('/tmp/../etc/passwd')\"""",
            """python3 -c "import os; os.system('cat /near/a.txt')\"""",
            """python3 -c "open('../a.txt')\"""",
            """python3 -c "open('src/../../a.txt')\"""",
            """python3 -c "import os; os.listdir('..')\"""",
            """python3 -c "open('~/a.txt')\"""",
            """python3 -c "open('$HOME/a.txt')\"""",
            """python3 -c "import urllib.request as u; u.urlopen('file:///near/a.txt')\"""",
            """perl -e 'open(F,"</near/a.txt");print <F>'""",
            """perl -e 'print for map {`cat $_`} qw(/etc/passwd)'""",
            """ruby -e 'puts File.read("/near/a.txt")'""",
            """node -e "require('fs').readFileSync('/near/a.txt')\"""",
            """php -r 'echo file_get_contents("/near/a.txt");'""",
            """awk 'BEGIN{while((getline l < "/near/a.txt")>0)print l > "b"}'""",
            "sed -i '1r /etc/passwd' a.txt",
            "cd src && python3 -c \"open('../../a.txt')\"",
            "python3 - <<'E'\nprint(open('/near/a.txt').read())\nE",
            "python3 <<< \"print(open('/near/a.txt').read())\"",
            "echo \"print(open('/near/a.txt').read())\" | python3",
            "cat <<'E' | python3 -\nprint(open('/near/a.txt').read())\nE",
        )
    },
}
ORDERS = (
    ".opencode/assent.toml", ".opencode/agents/build.md", ".OpenCode/x", "opencode.json",
    "sub/opencode.jsonc", "AGENTS.md", "docs/CLAUDE.md", ".claude/settings.json", ".mcp.json",
    ".vscode/mcp.json", ".cursor/rules/a.mdc", ".codex/config.toml", ".husky/AGENTS.md",
    ".github/copilot-instructions.md",
)  # fmt: skip
WRITES = {
    **{path: ResourceAccess(Action.EDIT, path) for path in ORDERS},
    "a redirect": ResourceAccess(Action.SHELL, "echo x > .claude/settings.json"),
    "a copy": ResourceAccess(Action.SHELL, "cp a opencode.json"),
    "a copy of a folder": ResourceAccess(Action.SHELL, "cp -r evil/.claude ."),
    "a move": ResourceAccess(Action.SHELL, "mv a/AGENTS.md ."),
    "a removal": ResourceAccess(Action.SHELL, "rm AGENTS.md"),
    "in place": ResourceAccess(Action.SHELL, "sed -i s/a/b/ CLAUDE.md"),
    "after cd": ResourceAccess(Action.SHELL, "cd .claude && touch settings.json"),
    **{
        line: ResourceAccess(Action.SHELL, line)
        for line in (
            """python3 -c "open('AGENTS.md','w').write('x')\"""",
            """python3 -c "open('.cursorrules','w').write('x')\"""",
            """python3 -c "open('/srv/app/AGENTS.md','w').write('x')\"""",
            """python3 -c'open("AGENTS.md","w")'""",
            """perl -e 'open(F,">AGENTS.md");print F 1'""",
            """node -e "require('fs').writeFileSync('CLAUDE.md','x')\"""",
            """ruby -e 'File.write("sub/CLAUDE.md", 1)'""",
            """awk 'BEGIN{print 1 > "AGENTS.md"}'""",
            "find a.txt -fprint AGENTS.md",
            "find a.txt -fprintf AGENTS.md x",
            "git show HEAD:a.txt --output=AGENTS.md",
            "git show HEAD:a.txt --output=AGENTS.m'd'",
            "git diff --output AGENTS.md",
            "tool -oAGENTS.md",
            "tool --to=agents.md",
            "echo AGENTS.md | xargs touch",
            "printf 'a\\nAGENTS.md\\n' | xargs touch",
            "ls AGENTS.md | xargs rm",
            "echo x | tee -a AGENTS.md",
            "X=AGENTS.md; tool $X",
            "X=AGENTS.md tool",
            "python3 - <<'E'\nopen('AGENTS.md','w').write('x')\nE",
            "xargs touch <<< AGENTS.md",
            "xargs touch <<'E'\nAGENTS.md\nE",
            "python3 tool.py .claude/settings.json",
            "cd sub && python3 -c \"open('AGENTS.md','w')\"",
            "python3 -c \"open('AGENTS.md','w')\" $(date",
        )
    },
    "one's own settings": ResourceAccess(Action.SHELL, "echo x >> ~/.config/assent/config.toml"),
}
FIXED = {**READS, **WRITES}


@pytest.mark.parametrize("mode", WORKING)
@pytest.mark.parametrize("request_", FIXED.values(), ids=FIXED)
def test_it_asks_in_every_mode_but_plan(request_: ResourceAccess, mode: Mode) -> None:
    assert decided(request_, mode).verdict is ASK
    assert decided(request_, PermissionContext(mode, auto=True)).verdict is ASK


NOT_ENOUGH = {
    "allow": (layer("allow"),),
    "a star for each": (layer({"external_directory": "allow", "edit": "allow", "bash": "allow"}),),
    "stars in paths": (
        layer({"external_directory": {"/*": "allow", "/n*": "allow", "*.txt": "allow",
                                      "/?ear/*": "allow", f"{HOME[:3]}*": "allow"},
               "edit": {"**": "allow", "*.json": "allow", "*.md": "allow", "docs/*": "allow",
                        f"{ROOT}/*": "allow", "sub/*": "allow", ".*": "allow"},
               "bash": "allow", "read": "allow"}),
    ),
    "a permission that is a star": (layer({"*": {"/near/*": "allow", ".claude/*": "allow"}}),),
    "another permission": (
        layer({"read": {"/near/*": "allow", "/srv/*": "allow"}, "bash": "allow"}),
    ),
    **{f"the preset {name}": (RuleLayer("user", rules),) for name, rules in PRESETS.items()},
}  # fmt: skip


@pytest.mark.parametrize("layers", NOT_ENOUGH.values(), ids=NOT_ENOUGH)
def test_no_rule_that_names_nothing_answers_it(layers: tuple[RuleLayer, ...]) -> None:
    for name, request in FIXED.items():
        assert decided(request, "yolo", *layers).verdict in (ASK, DENY), name


NAMED = {
    "external_directory": {"/near/*": "allow", "/srv/other/*": "allow", "/srv/a.txt": "allow",
                           f"{HOME}/*": "allow"},
    "edit": dict.fromkeys(("*", *ORDERS), "allow") | {".claude/*": "allow"},
    "bash": "allow",
}  # fmt: skip


@pytest.mark.parametrize("name", ["project", "agent"])
def test_rules_of_projects_and_agents_do_not_answer_it(name: RuleLayerName) -> None:
    for what, request in FIXED.items():
        found = decided(request, "yolo", layer("allow"), layer(NAMED, name))
        assert found.verdict is ASK, what


@pytest.mark.parametrize("name", ["user", "command line"])
@pytest.mark.parametrize(
    "what", ["a folder", "a file", "a file above", "a file at home", "cat", "cat above", "ls", "cp",
             "an option", *ORDERS, "a redirect", "a copy", "a removal", "after cd"]
)  # fmt: skip
def test_a_rule_of_the_person_that_names_the_path_answers_it(
    what: str, name: RuleLayerName
) -> None:
    assert decided(FIXED[what], "yolo", layer(NAMED, name)).verdict is RUN


def test_a_rule_of_a_file_that_others_could_have_written_does_not() -> None:
    for what, request in FIXED.items():
        assert decided(request, "yolo", layer(NAMED, trusted=False)).verdict is ASK, what


def test_a_deny_and_a_later_question_still_hold() -> None:
    folder = READS["a folder"]
    denied = layer({"external_directory": {"/near/deep/*": "deny"}}, "project")
    deep = ResourceAccess(Action.OUTSIDE, "/near/deep/*")
    assert decided(deep, "yolo", layer(NAMED), denied).verdict is DENY
    asked = layer({"external_directory": "ask"}, "project", trusted=False)
    assert decided(folder, "yolo", layer(NAMED), asked).verdict is ASK
    assert decided(deep, "yolo", layer(NAMED)).verdict is RUN


@pytest.mark.parametrize("mode", WORKING)
def test_the_scope_of_a_plan_of_prose_does_not_answer_it(mode: Mode) -> None:
    building = PermissionContext(mode, building=True, scope=("**", ".claude/*", "AGENTS.md"))
    for what, request in FIXED.items():
        assert decided(request, building).verdict is ASK, what


def remembered(reach: GrantScope, *patterns: PermissionPattern) -> PermissionContext:
    grant = Grant("g", reach, "s", "build", "yolo", patterns, "2026-01-01T00:00:00Z")
    return PermissionContext("yolo", agents=BUILD, grants=(grant,))


@pytest.mark.parametrize("request_", FIXED.values(), ids=FIXED)
def test_a_yes_for_the_session_answers_it_and_one_for_the_project_does_not(
    request_: ResourceAccess,
) -> None:
    judge, plain = gate(), PermissionContext("yolo", agents=BUILD)
    offered = judge.grant_patterns([request_], plain)
    assert judge.is_mandatory_ask([request_], plain)
    assert judge.decide([request_], remembered("project", *offered)).verdict is ASK
    if offered:
        assert judge.decide([request_], remembered("session", *offered)).verdict is RUN
    wide = [PermissionPattern(p, "*") for p in ("external_directory", "edit", "bash", "read")]
    assert judge.decide([request_], remembered("project", *wide)).verdict is ASK


def test_a_rule_that_names_the_file_answers_for_code_too() -> None:
    own = layer({"edit": {"AGENTS.md": "allow", ".claude/*": "allow"},
                 "external_directory": {"/near/*": "allow"}})  # fmt: skip
    for line in (
        "python3 -c \"open('AGENTS.md','w')\"", "find a.txt -fprint ./AGENTS.md",
        f"tool {ROOT}/AGENTS.md", "tool .claude", "tool .claude/settings.json",
        "python3 -c \"open('/near/a.txt')\"",
    ):  # fmt: skip
        assert decided(ResourceAccess(Action.SHELL, line), "yolo", own).verdict is RUN, line
    for line in (
        "cd sub && python3 -c \"open('AGENTS.md','w')\"", "find a.txt -fprint CLAUDE.md",
        "python3 -c \"open('/etc/passwd')\"",
    ):  # fmt: skip
        assert decided(ResourceAccess(Action.SHELL, line), "yolo", own).verdict is ASK, line


def test_a_deny_of_the_file_holds_for_code_too() -> None:
    denied = layer({"edit": {"AGENTS.md": "deny"}}, "project")
    line = "python3 -c \"open('AGENTS.md','w')\""
    assert decided(ResourceAccess(Action.SHELL, line), "yolo", denied).verdict is DENY


def test_in_plan_mode_reads_ask_and_writes_are_staged() -> None:
    assert decided(READS["a folder"], "plan").verdict is ASK
    assert decided(READS["a file"], "plan").verdict is ASK
    for path in ORDERS:
        assert decided(ResourceAccess(Action.EDIT, path), "plan").verdict is STAGE
    redirect = msgspec.structs.replace(WRITES["a redirect"], stage=True)
    assert decided(redirect, "plan").verdict is STAGE


USUAL = (
    "cat a.txt", "cat src/../a.txt", f"cat {ROOT}/a.txt", "cd src && cat ../a.txt",
    "cd src && cp ../a.txt .", "make > /dev/null 2>&1", "make < /dev/null", "sed -i /foo/d a.txt",
    "grep -q /api/ a.txt || make", "awk '/x/ {print}' a > b", "curl -o a https://example.org/b",
    "find . -path './x/*' -delete", "git commit -m '/fix: ../x'", "echo /etc/hosts > a",
    "pytest -q tests/a.py", "mkdir -p out && cp a.txt out/", "cp a.txt node_modules/x/AGENTS.md",
    "dd if=/dev/zero of=a count=1", "cat AGENTS.md", "grep x AGENTS.md", "git log -- AGENTS.md",
    "rg AGENTS.md", "test -f AGENTS.md && cat AGENTS.md", "cat CLAUDE.md 2>/dev/null | head -5",
    "git show HEAD:AGENTS.md", "find . -name AGENTS.md",
    """python3 -c "import sys; print(sys.path)\"""",
    """python3 -c "print('/'.join(['a', 'b']), 7 // 2, 'a/b'.split('/'))\"""",
    """python3 -c "from pathlib import Path; print(Path.cwd()/'src'/name)\"""",
    """python3 -c "open('/tmp/x', 'w')" 2> /dev/null""",
    f"""python3 -c "open('{ROOT}/a.txt'); open('src/../b')\"""",
    """python3 -c "import sqlite3; sqlite3.connect('a.db').cursor()\"""",
    """python3 -c "print(open('/usr/lib/os-release').read())\"""",
    """python3 -c "open('run', 'w').write('#!/usr/bin/env python3')\"""",
    """node -e "console.log('a b'.replace(/a b/g, ''), [...'x'], 'https://a.org/etc/b')\"""",
    """perl -ne 'print if /foo/ && $_=~/bar/i' a.txt""", "perl -pe 's/ /_/g' a.txt",
    "awk '/x/ && /y/ {print}' a > b", "sed -i 's|/etc/a|/etc/b|' a.txt", "ruby -e 'p (1..5).sum'",
)  # fmt: skip


@pytest.mark.parametrize("line", USUAL)
def test_usual_commands_do_not_ask_in_yolo_mode(line: str) -> None:
    assert decided(ResourceAccess(Action.SHELL, line), "yolo").verdict is RUN


def test_usual_files_are_no_orders_for_agents() -> None:
    usual = ("src/a.py", "docs/agents/x.md", "opencode.py", "node_modules/a/AGENTS.md", "a.json",
             "lib/site-packages/x/CLAUDE.md", "claude.md.txt")  # fmt: skip
    assert [path for path in usual if configures_agents(path.encode())] == []
    assert [path for path in ORDERS if not configures_agents(path.encode())] == []


def test_explaining_says_who_decides() -> None:
    judge = gate(RuleLayer("user", (PermissionRule("external_directory", "*", "allow"),)))
    found = judge.explain([READS["cat"]], PermissionContext("yolo"))
    asked = [each for each in found if each.decision.verdict is ASK]
    assert [(one.request.permission, one.request.resource) for one in asked] == [
        ("external_directory", "/near/*")
    ]
    assert asked[0].decision.layer == "defaults"


@pytest.mark.parametrize("mode", MODES)
def test_a_yes_is_never_offered_for_the_project_where_it_would_not_count(mode: Mode) -> None:
    assert gate().is_mandatory_ask([READS["a folder"]], PermissionContext(mode))
    assert not gate().is_mandatory_ask(
        [ResourceAccess(Action.EDIT, "src/a.py")], PermissionContext(mode)
    )
