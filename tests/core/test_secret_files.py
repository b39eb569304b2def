"""Each row of the secrets' names proves itself, and templates stay in sight."""

import os

import pytest

from assent.core.permission.sensitive_paths import SECRET_FILES, SecretFilePattern, secret_file

HITS = [(row, hit) for row in SECRET_FILES for hit in row.hits]
MISSES = [(row, miss) for row in SECRET_FILES for miss in row.misses]


@pytest.mark.parametrize(("row", "path"), HITS, ids=str)
def test_a_row_finds_what_it_names(row: SecretFilePattern, path: str) -> None:
    assert _judged(path) == row


@pytest.mark.parametrize(("row", "path"), MISSES, ids=str)
def test_a_row_does_not_find_what_it_excludes(row: SecretFilePattern, path: str) -> None:
    assert _judged(path) != row


@pytest.mark.parametrize("glob", [glob for row in SECRET_FILES for glob in row.globs])
@pytest.mark.parametrize("fill", ["x", "-x.y_Z", "x" * 300])
def test_every_glob_is_found_by_the_quick_way_too(glob: str, fill: str) -> None:
    assert _judged(glob.replace("*", fill)) is not None


@pytest.mark.parametrize("word", ["example", "sample", "template", "dist", "defaults", "schema"])
def test_templates_hold_no_secrets(word: str) -> None:
    names = [f".env.{word}", f".env.local.{word}", f"{word}.env", f"docker.{word}.env"]
    assert [_judged(name) for name in names] == [None] * 4


def test_a_template_of_something_else_hides_no_secret() -> None:
    assert _judged(".env.example.local") is not None
    assert _judged("sample.pem") is not None


def test_a_name_that_some_file_system_takes_for_another_is_found() -> None:
    assert _judged(".\u200dENV") == _judged(".env")


def test_names_that_are_no_text_do_no_harm() -> None:
    assert secret_file(b"\xff", b"\xff.env") == secret_file(b"", b".env")
    assert secret_file(b"\xff", b"\xff\n") is None


def _judged(path: str) -> SecretFilePattern | None:
    folder, name = os.path.split(os.fsencode(path))
    return secret_file(folder, name)
