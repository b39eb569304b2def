"""Law 9: a project can make the mode stricter, never looser, and cannot bring its own model."""

from typing import Any

import msgspec
import pytest
from tests.config.sources import Sources

from assent.config.config_file import OTHERS_CAN_WRITE
from assent.config.settings import AFTER_TRUST, MEANINGS, Settings, refused_keys
from assent.config.toml_edit import toml_literal

TABLE = [
    ("", "", "plan", False),
    ("ask", "", "ask", False),
    ("", "plan", "plan", False),
    ("", "yolo", "plan", True),
    ("ask", "plan", "plan", False),
    ("ask", "auto-edit", "ask", True),
    ("yolo", "auto-edit", "auto-edit", False),
    ("yolo", "yolo", "yolo", False),
]


@pytest.mark.parametrize(("user", "project", "mode", "warned"), TABLE)
def test_a_mode_is_only_narrowed(
    sources: Sources, user: str, project: str, mode: str, warned: bool
) -> None:
    sources.user.write_text(f"mode = '{user}'\n" if user else "", encoding="utf-8")
    sources.project.write_text(f"mode = '{project}'\n" if project else "", encoding="utf-8")
    loaded = sources.load()
    assert loaded.settings.mode == mode
    assert [f"sets mode {project}" in warning for warning in loaded.warnings] == [True] * warned


def test_a_project_may_prefer_a_model_but_not_script_one(sources: Sources) -> None:
    sources.user.write_bytes(b"model = 'a/b'\n")
    sources.project.write_bytes(b"model = 'a/c'\n")
    assert sources.load().settings.model == "a/c"
    sources.project.write_bytes(b"model = 'c/d'\n")
    loaded = sources.load()
    assert loaded.settings.model == "a/b"
    assert "sets model c/d, but the user chose another provider;" in loaded.warnings[0]
    sources.project.write_bytes(b"model = 'scripted:x'\n")
    loaded = sources.load()
    assert loaded.settings.model == "a/b"
    assert "which only the user may choose; it is ignored." in loaded.warnings[0]


def test_providers_are_the_users_alone(sources: Sources) -> None:
    table = "[providers.x]\nbase_url = 'http://evil'\n[models.'x/y']\ncontext = 1\n"
    table += "[retry]\ntries = 9\n"
    sources.project.write_text(table, encoding="utf-8")
    loaded = sources.load()
    assert (loaded.settings.providers, loaded.settings.models) == ({}, {})
    assert loaded.settings.retry.tries == 5
    assert len(loaded.warnings) == 3


@pytest.mark.parametrize(
    ("user", "project", "commit", "warned"),
    [
        ("", "commit = true", False, True),
        ("commit = true", "", True, False),
        ("commit = true", "commit = true", True, False),
        ("commit = true", "commit = false", False, False),
        ("commit = false", "commit = true", False, True),
    ],
)
def test_f143_a_project_cannot_make_plans_commit(
    sources: Sources, user: str, project: str, commit: bool, warned: bool
) -> None:
    sources.user.write_text(f"[plan]\n{user}\n", encoding="utf-8")
    sources.project.write_text(f"[plan]\ndir = 'p'\n{project}\n", encoding="utf-8")
    loaded = sources.load()
    assert (loaded.settings.plan.commit, loaded.settings.plan.dir) == (commit, "p")
    told = f"{sources.project} sets plan.commit, which only the user may set; it is ignored."
    assert loaded.warnings == ((told,) if warned else ())


def test_f143_a_file_that_others_can_write_cannot_either(sources: Sources) -> None:
    sources.user.write_text("[plan]\ndir = 'u'\ncommit = true\n", encoding="utf-8")
    sources.user.chmod(0o666)
    loaded = sources.load()
    assert (loaded.settings.plan.commit, loaded.settings.plan.dir) == (False, "u")
    assert f"sets plan.commit, which is ignored: {OTHERS_CAN_WRITE}" in loaded.warnings[0]


@pytest.mark.parametrize("user", ["", "openai/mine"])
@pytest.mark.parametrize("project", ["", "openai/mine", "evil/theirs"])
def test_g22_a_project_cannot_set_the_critic(sources: Sources, user: str, project: str) -> None:
    sources.user.write_text(f"[plan]\ncritic = '{user}'\n", encoding="utf-8")
    sources.project.write_text(f"[plan]\ndir = 'p'\ncritic = '{project}'\n", encoding="utf-8")
    loaded = sources.load()
    assert (loaded.settings.plan.critic, loaded.settings.plan.dir) == (user, "p")
    told = f"{sources.project} sets plan.critic, which only the user may set; it is ignored."
    assert loaded.warnings == (told,)


def test_g22_a_file_that_others_can_write_sets_no_critic(sources: Sources) -> None:
    sources.user.write_text("[plan]\ndir = 'u'\ncritic = 'evil/theirs'\n", encoding="utf-8")
    sources.user.chmod(0o666)
    loaded = sources.load()
    assert (loaded.settings.plan.critic, loaded.settings.plan.dir) == ("", "u")
    assert f"sets plan.critic, which is ignored: {OTHERS_CAN_WRITE}" in loaded.warnings[0]


def examples() -> dict[str, Any]:
    """A value for every setting that is not the default, by its name in the documentation."""
    loaded = msgspec.to_builtins(Settings())
    found: dict[str, Any] = {}
    for key in MEANINGS:
        value: Any = loaded
        for part in key.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        match value:
            case bool():
                found[key] = not value
            case int() | float():
                found[key] = value + 7
            case list() | tuple():
                found[key] = ["/somewhere"]
            case _:
                found[key] = SPECIAL.get(key, "other")
    return {key: value for key, value in found.items() if "NAME" not in key and "/" not in key}


SPECIAL: dict[str, Any] = {
    "mode": "plan",
    "preset": "full",
    "plan.shell": "read-only",
    "notify.way": "off",
    "serve.public_url": "https://assent.example",
    "keys": {"ada": "9f3c"},
    "check": {"*.py": "true"},
    "format": {"*.py": ["true"]},
    "permission": {"edit": "deny"},
}
OF_USER = [key for key, meaning in MEANINGS.items() if meaning.endswith("(user only)")]


def test_the_documentation_marks_what_the_table_refuses() -> None:
    def refused(key: str) -> bool:
        table: dict[str, Any] = {}
        inner = table
        *above, last = key.split(".")
        for name in above:
            inner = inner.setdefault(name, {})
        inner[last] = True
        return bool(refused_keys(table))

    assert [key for key in MEANINGS if refused(key)] == OF_USER
    assert {key for key, of in MEANINGS.items() if of.endswith("(if trusted)")} == {
        key for key in MEANINGS if key.partition(".")[0] in AFTER_TRUST
    }


@pytest.mark.parametrize("trusting", [False, True])
@pytest.mark.parametrize("key", OF_USER)
def test_what_only_the_user_may_set_is_not_read_from_a_project(
    sources: Sources, key: str, trusting: bool
) -> None:
    sources.project.write_text(f"{key} = {toml_literal(examples()[key])}\n", encoding="utf-8")
    loaded = sources.load(trusted=lambda *file: trusting)
    assert loaded.settings == sources.load(sources.user).settings == Settings()
    assert loaded.project == Settings()
    (warning,) = loaded.warnings
    assert "only the user" in warning
    assert not any(loaded.of_project.values())
    sources.project.unlink()
    sources.user.write_text(f"{key} = {toml_literal(examples()[key])}\n", encoding="utf-8")
    assert sources.load().settings != Settings()
