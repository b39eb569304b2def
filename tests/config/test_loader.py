"""Two files become one set of settings, and an error names the file that is wrong."""

import os

import pytest
from tests.config.sources import Sources

from assent.config.config_file import NOT_REGULAR, unreadable_text
from assent.config.loader import IGNORED_HERE, LoadedSettings
from assent.config.settings import ApproveSettings, PlanSettings, Settings
from assent.core.errors import Refused, UsageError

BROKEN = {
    "syntax": b"[plan\n",
    "schema": b"[plan]\nfolder = 'x'\n",
    "type": b"[plan]\ndir = 7\n",
    "table": b"plan = 'x'\n",
}


def test_without_files_everything_is_default(sources: Sources) -> None:
    assert sources.load() == LoadedSettings(Settings())


def test_the_project_speaks_after_the_user_but_not_about_approval(sources: Sources) -> None:
    sources.user.write_bytes(b"[plan]\ndir = 'u'\n[approve]\nexpires_s = 5\n")
    sources.project.write_bytes(b"[plan]\ndir = 'p'\n[approve]\nexpires_s = 9\nnonsense = 1\n")
    ignored = (
        f"{sources.project} sets [approve], which only the user's configuration may set; it is "
        "ignored."
    )
    settings = Settings(PlanSettings("p"), ApproveSettings(expires_s=5))
    assert sources.load() == LoadedSettings(settings, (ignored,), of_project={"plan": {"dir": "p"}})


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("guilty", ["user", "project"])
def test_an_error_names_the_guilty_file_alone(
    sources: Sources, guilty: str, content: bytes
) -> None:
    both = {"user": sources.user, "project": sources.project}
    for path in both.values():
        path.write_bytes(b"[plan]\ndir = 'fine'\n")
    wrong = both.pop(guilty)
    (innocent,) = both.values()
    wrong.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        sources.load()
    assert caught.value.message.startswith(f"{wrong} cannot be used: ")
    assert str(innocent) not in caught.value.message
    assert caught.value.next == f"$EDITOR {wrong}"


def test_a_folder_that_plans_cannot_lie_in_names_the_file_too(sources: Sources) -> None:
    sources.project.write_bytes(b"[plan]\ndir = '../x'\n")
    with pytest.raises(Refused) as caught:
        sources.load()
    assert caught.value.message == f"{sources.project}: plan.dir cannot be ../x."
    assert caught.value.next == f"$EDITOR {sources.project}"


@pytest.mark.parametrize("content", [*BROKEN.values(), b"[plan]\ndir = '../x'\n"])
def test_leniently_a_broken_project_is_empty_and_told(sources: Sources, content: bytes) -> None:
    sources.user.write_bytes(b"[plan]\ndir = 'u'\n")
    sources.project.write_bytes(content)
    loaded = sources.load(lenient=True)
    assert loaded.settings == Settings(PlanSettings("u"))
    (warning,) = loaded.warnings
    assert warning.startswith(f"{sources.project}")
    assert warning.endswith(" The file is ignored here.")


def test_leniently_a_pipe_in_its_place_is_empty_and_told(sources: Sources) -> None:
    os.mkfifo(sources.project)
    assert sources.load(lenient=True) == LoadedSettings(
        Settings(),
        (f"{unreadable_text(sources.project, NOT_REGULAR)} {IGNORED_HERE}",),
    )


def test_a_broken_user_file_is_an_error_even_leniently(sources: Sources) -> None:
    sources.user.write_bytes(b"[plan\n")
    with pytest.raises(UsageError):
        sources.load(lenient=True)
