"""Modes of one's own: a bad one spoils no other, and a project's only narrow."""

import pytest
from tests.config.sources import Sources

from assent.config.loader import MAX_ID_CHARS, load_modes
from assent.core.permission.mode import CustomMode

REVIEW = {
    "base": "ask",
    "label": "Review  docs",
    "tools": ["read", "edit"],
    "edit": ["docs/**"],
    "prompt": "Be kind.\n",
}


def test_f8_a_mode_is_what_its_table_says() -> None:
    modes, remarks = load_modes({"review-docs": REVIEW}, {})
    assert remarks == ([], [])
    assert modes == {
        "review-docs": CustomMode(
            "review-docs", "ask", "Review docs", ("read", "edit"), ("docs/**",), "Be kind.", "user"
        )
    }


BAD = {
    "an id with capitals": ("Review", {"base": "ask"}),
    "an id with an underscore": ("re_view", {"base": "ask"}),
    "an id with a dash at its end": ("review-", {"base": "ask"}),
    "an empty id": ("", {"base": "ask"}),
    "a long id": ("a" * (MAX_ID_CHARS + 1), {"base": "ask"}),
    "no table": ("review", "ask"),
    "no base": ("review", {"label": "Review"}),
    "another base": ("review", {"base": "wild"}),
    "another member": ("review", {"base": "ask", "allow": ["*"]}),
    "tools that are no list": ("review", {"base": "ask", "tools": "read"}),
    "a long label": ("review", {"base": "ask", "label": "x" * 81}),
    "an empty glob": ("review", {"base": "ask", "edit": [""]}),
    "a glob from the root": ("review", {"base": "ask", "edit": ["/etc/*"]}),
}


@pytest.mark.parametrize(("name", "entry"), BAD.values(), ids=BAD)
def test_f8_a_bad_one_is_left_out_with_a_remark_and_the_others_stay(
    name: str, entry: object
) -> None:
    modes, ((remark,), about_project) = load_modes({name: entry, "fine": {"base": "plan"}}, {})
    assert modes == {"fine": CustomMode("fine", "plan", source="user")}
    assert remark.startswith(f"has a mode {name!a} that cannot be used: ")
    assert remark.endswith("It was skipped.")
    assert about_project == []


def test_f8_what_is_no_table_at_all_is_left_out() -> None:
    assert load_modes("x", {}) == ({}, (["has modes that are not a table; they were skipped."], []))


def test_f8_both_files_are_loaded_and_a_remark_names_its_file(sources: Sources) -> None:
    sources.user.write_bytes(b"[modes.mine]\nbase = 'yolo'\n[modes.X]\nbase = 'ask'\n")
    sources.project.write_bytes(b"[modes.theirs]\nbase = 'auto-edit'\n[modes.odd]\nlabel = 'x'\n")
    loaded = sources.load()
    assert loaded.settings.modes == {
        "mine": CustomMode("mine", "yolo", source="user"),
        "theirs": CustomMode("theirs", "ask", source="project"),
    }
    assert [warning.partition(" has a mode ")[0] for warning in loaded.warnings] == [
        str(sources.user),
        str(sources.project),
        str(sources.project),
    ]
    assert "has a mode 'theirs' based on auto-edit; here it is based on ask." in loaded.warnings[1]


def test_f8_a_trusted_project_may_have_a_freer_mode(sources: Sources) -> None:
    sources.project.write_bytes(b"[modes.theirs]\nbase = 'yolo'\n")
    loaded = sources.load(trusted=lambda name, content: True)
    assert loaded.settings.modes == {"theirs": CustomMode("theirs", "yolo", source="project")}
    assert loaded.warnings == ()


def test_f8_a_users_file_in_doubt_has_no_freer_mode(sources: Sources) -> None:
    sources.user.write_bytes(b"[modes.mine]\nbase = 'yolo'\n")
    sources.user.chmod(0o666)
    assert sources.load().settings.modes == {"mine": CustomMode("mine", "ask", source="user")}


@pytest.mark.parametrize("trusted", [False, True])
@pytest.mark.parametrize("base", ["ask", "auto-edit", "yolo"])
def test_f9_one_of_the_four_keeps_its_base(base: str, trusted: bool) -> None:
    wider = {"plan": {"base": base, "edit": ["docs/**"]}}
    modes, (_, (remark,)) = load_modes({}, wider, trusted=trusted)
    assert modes == {"plan": CustomMode("plan", "plan", edit=("docs/**",), source="project")}
    assert remark == f"has a mode 'plan' based on {base}; here it is based on plan."


def test_f9_one_of_the_four_needs_no_base() -> None:
    modes, remarks = load_modes({"yolo": {"label": "Fast"}}, {})
    assert (modes, remarks) == (
        {"yolo": CustomMode("yolo", "yolo", "Fast", source="user")},
        ([], []),
    )


def test_f9_a_project_only_narrows_what_the_user_has() -> None:
    mine = {"review": REVIEW, "plan": {"label": "Think"}}
    theirs = {
        "review": {"base": "yolo", "label": "Harmless", "tools": ["edit", "shell"], "prompt": "!"},
        "plan": {"label": "Do", "edit": ["src/**"]},
    }
    modes, _ = load_modes(mine, theirs, trusted=True)
    own = CustomMode(
        "review", "ask", "Review docs", ("read", "edit"), ("docs/**",), "Be kind.", "user"
    )
    plan = CustomMode("plan", "plan", "Think", source="user")
    assert modes == {
        "review": CustomMode(
            "review", "ask", "Review docs", ("edit", "shell"), None, "!", "project", own
        ),
        "plan": CustomMode("plan", "plan", "Think", None, ("src/**",), "", "project", plan),
    }
