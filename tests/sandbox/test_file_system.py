"""Facts about paths that many are asked for at once are those that each has alone."""

import os
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.properties import examples

from assent.sandbox.profile.exposure import _is_below
from assent.sandbox.profile.file_system import covered_by, is_covered, symlink_chain

NAMES = st.sampled_from([b"a", b"b", b"a-", b"ab", b"0"])
PATHS = st.lists(NAMES, max_size=4).map(lambda names: b"/" + b"/".join(names))


@settings(max_examples=examples(200))
@given(st.lists(PATHS, max_size=12), st.frozensets(PATHS, max_size=5))
def test_many_paths_are_covered_as_each_alone(
    paths: list[bytes], folders: frozenset[bytes]
) -> None:
    is_seen = covered_by(folders)
    assert [is_seen(path) for path in paths] == [is_covered(path, folders) for path in paths]


@settings(max_examples=examples(200))
@given(PATHS, st.frozensets(PATHS, max_size=8))
def test_what_is_below_a_folder_is_found_in_order(folder: bytes, paths: frozenset[bytes]) -> None:
    below = any(path.startswith(folder + b"/") for path in paths)
    assert _is_below(folder, sorted(paths)) is below


def test_a_deep_path_is_covered_like_any_other() -> None:
    deep = b"/a" * 2000
    assert covered_by({b"/a"})(deep)
    assert not covered_by({b"/b"})(deep)


def test_symlinks_are_the_same_whether_or_not_others_were_followed_before(tmp_path: Path) -> None:
    (tmp_path / "real" / "deep").mkdir(parents=True)
    (tmp_path / "real" / "file").write_bytes(b"")
    for name, target in {
        "way": "real", "far": "/usr/bin", "round": "round", "gone": "missing", "real/up": "..",
        "chain": "way/up/way", "blank": "./real//deep/.",
    }.items():  # fmt: skip
        (tmp_path / name).symlink_to(target)
    asked = [
        os.fsencode(tmp_path / path)
        for path in (
            "real", "way", "way/deep", "way/missing", "far", "far/env", "round", "round/x", "gone",
            "chain", "chain/deep", "chain/file/x", "blank", "real/file/x", "real/up/way/deep/..",
        )
    ]  # fmt: skip
    alone = [symlink_chain(path) for path in asked]
    for order in (asked, asked[::-1]):
        known: dict[bytes, bytes] = {}
        found = {path: symlink_chain(path, known) for path in order}
        assert [found[path] for path in asked] == alone
    assert {bool(steps) for steps in alone} == {True, False}
