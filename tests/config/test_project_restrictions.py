"""Law 9: a project can make the mode stricter, never looser, and cannot bring its own model."""

import pytest
from tests.config.sources import Sources

from assent.config.config_file import OTHERS_CAN_WRITE

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
