"""Rules come from the user, from OpenCode's files and from the project, each in its own layer."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.config.sources import Sources

from assent.config.config_file import BadJson, read_jsonc, without_comments
from assent.config.paths import AppPaths
from assent.config.permissions import PRESETS, RuleSources, load_policy, rules_in
from assent.core.errors import UsageError
from assent.core.permission.rule import (
    PermissionPolicy,
    PermissionRule,
    RuleLayer,
    failed_examples,
    rule_text,
)


class Desk(Sources):
    """A user's files and a project's, and the policy that they come to."""

    def __init__(self, base: Path) -> None:
        super().__init__(base)
        self.opencode = base / "config" / "opencode"
        self.opencode.mkdir()
        self.trusted: set[tuple[str, bytes]] = set()

    def write(self, path: Path, text: str) -> bytes:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o644)
        return text.encode()

    def policy(
        self, *typed: PermissionRule, check: bool = True
    ) -> tuple[PermissionPolicy, tuple[str, ...]]:
        sources = RuleSources(
            self.load(),
            AppPaths(self.user.parents[2] / "state", self.user.parent),
            os.fsencode(os.path.realpath(self.root)),
            "/home/ada",
            os.open,
            lambda name, content: (name, content) in self.trusted,
            typed,
            check,
        )
        return load_policy(sources)

    def shown(self, *typed: PermissionRule) -> list[tuple[str, bool, list[str]]]:
        """Returns each layer with its rules in one line each; there must be no warning."""
        policy, warnings = self.policy(*typed)
        assert warnings == ()
        return [(each.name, each.trusted, [*map(rule_text, each.rules)]) for each in policy.layers]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_without_any_file_there_is_no_rule(desk: Desk) -> None:
    root = os.path.realpath(desk.root)
    assert desk.policy() == (PermissionPolicy((), root, "/home/ada"), ())


def test_f70_the_users_own_rules_are_one_layer_in_order(desk: Desk) -> None:
    desk.write(desk.opencode / "opencode.json", '{"permission": {"edit": "ask"}}')
    desk.write(desk.opencode / "opencode.jsonc", '{"permission": {"bash": {"rm *": "deny"}},}')
    desk.write(
        desk.user,
        'preset = "dev"\n[permission]\nread = "allow"\n[permission.bash]\n"*" = "ask"\n'
        '"git *" = "allow"\n[[rules]]\npermission = "edit"\npattern = "*.lock"\naction = "deny"\n',
    )
    [(name, trusted, rules)] = desk.shown()
    preset = [rule_text(rule) for rule in PRESETS["dev"]]
    assert (name, trusted, rules[: len(preset)]) == ("user", True, preset)
    assert rules[len(preset) :] == [
        "edit: * = ask",
        "bash: rm * = deny",
        "read: * = allow",
        "bash: * = ask",
        "bash: git * = allow",
        "edit: *.lock = deny",
    ]


def test_f70_one_word_is_a_whole_table(desk: Desk) -> None:
    desk.write(desk.user, 'permission = "deny"\n')
    assert desk.shown() == [("user", True, ["*: * = deny"])]


def test_f70_older_switches_of_opencode_come_before_its_table(desk: Desk) -> None:
    text = '{"permission": {"edit": "ask"}, "tools": {"write": false, "bash": true}}'
    desk.write(desk.opencode / "opencode.json", text)
    assert desk.shown() == [("user", True, ["edit: * = deny", "edit: * = ask"])]


def test_law_9_each_file_of_a_project_is_a_layer_that_only_narrows(desk: Desk) -> None:
    desk.write(desk.root / "opencode.json", '{"permission": "allow"}')
    desk.write(desk.root / ".opencode" / "opencode.jsonc", '// ours\n{"permission": "ask"}')
    desk.write(desk.project, '[permission]\nedit = "deny"\n')
    assert desk.shown() == [
        ("project", False, ["*: * = allow"]),
        ("project", False, ["*: * = ask"]),
        ("project", False, ["edit: * = deny"]),
    ]


def test_a_project_allows_what_the_person_trusted_by_content(desk: Desk) -> None:
    content = desk.write(desk.root / "opencode.json", '{"permission": {"bash": "allow"}}')
    desk.trusted = {("opencode.json", content)}
    assert desk.shown() == [("project", True, ["bash: * = allow"])]
    desk.write(desk.root / "opencode.json", '{"permission": {"bash": "allow" }}')
    assert desk.shown() == [("project", False, ["bash: * = allow"])]


def test_a_project_cannot_empty_the_users_table(desk: Desk) -> None:
    desk.write(desk.user, '[permission]\nedit = "deny"\n')
    desk.write(desk.project, "permission = {}\nrules = []\n")
    assert desk.shown() == [("user", True, ["edit: * = deny"])]


def test_what_is_typed_comes_last(desk: Desk) -> None:
    typed = PermissionRule("bash", "make *", "allow", source="command line")
    desk.write(desk.project, '[permission]\nedit = "ask"\n')
    assert [name for name, *_ in desk.shown(typed)] == ["project", "command line"]


@pytest.mark.parametrize("which", ["opencode", "own"])
def test_a_users_file_that_others_can_write_only_narrows(desk: Desk, which: str) -> None:
    if which == "own":
        path = desk.user
        desk.write(path, '[permission]\nedit = "allow"\n')
    else:
        path = desk.opencode / "opencode.json"
        desk.write(path, '{"permission": {"edit": "allow"}}')
    path.chmod(0o666)
    policy, warnings = desk.policy()
    [layer] = policy.layers
    assert (layer.name, layer.trusted) == ("user", False)
    assert len(warnings) == 1
    assert f"Allow rules in {path} are ignored" in warnings[0]


BAD = {
    "no JSON": ("{", "it is not valid JSON"),
    "a list": ("[]", "it is not a JSON object"),
    "an action": (
        '{"permission": {"edit": "maybe"}}',
        "permission.edit must be one of allow, ask, deny or a table",
    ),
    "a number": ('{"permission": 3}', "permission must be one of allow, ask, deny or a table"),
    "tools": ('{"tools": [1]}', "tools must be a table, not [1]"),
    "no end": ('{} /* "', "it has an unclosed comment"),
}


@pytest.mark.parametrize(("text", "why"), BAD.values(), ids=BAD)
def test_a_broken_file_is_an_error_of_the_users_and_a_warning_of_the_projects(
    desk: Desk, text: str, why: str
) -> None:
    desk.write(desk.root / "opencode.json", text)
    desk.write(desk.root / "opencode.jsonc", '{"permission": {"edit": "deny"}}')
    policy, [warning] = desk.policy()
    assert why in warning
    assert warning.endswith("Its rules are ignored.")
    assert [rule_text(rule) for layer in policy.layers for rule in layer.rules] == [
        "edit: * = deny"
    ]
    desk.write(desk.opencode / "opencode.json", text)
    with pytest.raises(UsageError, match="cannot be used") as caught:
        desk.policy()
    assert why in caught.value.message


def test_an_unknown_action_of_ours_names_file_and_permission(desk: Desk) -> None:
    for path in (desk.user, desk.project):
        desk.write(path, '[permission]\nedit = "maybe"\n')
        where = "line 2: permission.edit must be one of allow, ask, deny or a table"
        with pytest.raises(UsageError, match=where) as caught:
            desk.load()
        assert str(path) in caught.value.message
        path.unlink()


def test_an_unknown_preset_is_named(desk: Desk) -> None:
    desk.write(desk.user, 'preset = "wild"\n')
    with pytest.raises(UsageError, match="line 1: preset must be one of dev, full, safe"):
        desk.policy()


def test_f89_a_project_chooses_no_preset(desk: Desk) -> None:
    desk.write(desk.project, 'preset = "full"\n')
    assert desk.policy()[0].layers == ()


EXAMPLE = (
    '[[rules]]\npermission = "bash"\npattern = "git push *"\naction = "deny"\n'
    'reason = "By hand."\nmatches = ["git push", "git pull"]\nmisses = ["git pushx"]\n'
)


def test_a_rule_that_fails_its_examples_is_not_loaded(desk: Desk) -> None:
    desk.write(desk.user, EXAMPLE)
    with pytest.raises(UsageError, match="should match 'git pull' but does not") as caught:
        desk.policy()
    assert str(desk.user) in caught.value.message
    assert "`bash: git push * = deny`" in caught.value.message
    [layer] = desk.policy(check=False)[0].layers
    assert layer == RuleLayer(
        "user",
        (
            PermissionRule(
                "bash", "git push *", "deny", "By hand.", ("git push", "git pull"), ("git pushx",),
                str(desk.user),
            ),
        ),
    )  # fmt: skip
    assert rules_in(desk.user, os.open) == layer.rules


@pytest.mark.parametrize("preset", PRESETS)
def test_f89_every_rule_of_a_preset_has_a_reason_and_keeps_its_examples(preset: str) -> None:
    rules = PRESETS[preset]
    assert [
        rule for rule in rules if not rule.reason or rule.source != f"the preset {preset}"
    ] == []
    assert [rule for rule in rules if failed_examples(rule)] == []
    assert all(rule.matches and rule.misses for rule in rules if rule.permission == "bash")


def test_rules_for_agents_in_opencodes_file_are_named_because_they_are_not_read(desk: Desk) -> None:
    text = '{"agent": {"plan": {"permission": {"edit": "deny"}}, "x": {"model": "a/b"}, "y": 3}}'
    desk.write(desk.opencode / "opencode.json", text)
    policy, [warning] = desk.policy()
    assert policy.layers == ()
    assert "has rules for agent plan" in warning


def _link(path: Path) -> None:
    path.symlink_to("/etc/hostname")


def _folder(path: Path) -> None:
    (path / "rules").mkdir(parents=True)


def test_an_empty_folder_in_the_place_of_a_file_holds_no_rules_and_is_no_news(desk: Desk) -> None:
    (desk.root / "opencode.json").mkdir()
    policy, warnings = desk.policy()
    assert (policy.layers, tuple(warnings)) == ((), ())


@pytest.mark.parametrize("place", [_link, os.mkfifo, _folder], ids=["link", "pipe", "folder"])
def test_what_is_no_plain_file_of_the_project_is_ignored_with_a_warning(
    desk: Desk, place: Callable[[Path], None]
) -> None:
    place(desk.root / "opencode.json")
    policy, warnings = desk.policy()
    assert (policy.layers, len(warnings)) == ((), 1)


JSONC = [
    ('{"a": 1} // x', {"a": 1}),
    ('{"a": "// no /* comment */"}', {"a": "// no /* comment */"}),
    ('{/* x\n */"a": [1, 2, /* y */ ], }', {"a": [1, 2]}),
    ('{"a": "b\\\\", /*"*/ "c": ",]"}', {"a": "b\\", "c": ",]"}),
    ('{"a": "\\"/*", "b": 2,\n// x\n}', {"a": '"/*', "b": 2}),
    ('\ufeff{"a": 1}', {"a": 1}),
]


@pytest.mark.parametrize(("text", "wanted"), JSONC)
def test_json_with_comments(text: str, wanted: object) -> None:
    assert read_jsonc(text.encode()) == wanted
    assert without_comments(text).count("\n") == text.count("\n")


@pytest.mark.parametrize(
    "text", ['{"a": 1,, }', "{,}", '{"a" // x\n}', '{"a": "x\n}', "", '"a"', "{" * 20_000, "[,]"]
)
def test_what_is_no_json_stays_none(text: str) -> None:
    with pytest.raises(BadJson):
        read_jsonc(text.encode())
