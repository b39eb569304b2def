"""The structure of a plan's Markdown: which sections it has, whatever their headings look like."""

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.core.plan.plan import plan_template
from assent.core.plan.structure import (
    HEADINGS,
    PlanStructure,
    SectionKind,
    markdown_lines,
    named_paths,
    plan_structure,
    section_kinds,
)

WHOLE = """\
---
scope: {files: [src/*]}
---
# Add login

## Goal

Let people log in.

## Steps

- [ ] 1 Write `src/login.py`

## Files to modify/create

- `src/login.py` is new
- Makefile
- src/app.py: calls it
| `docs/login.md` | new |

## Risks & mitigations

Passwords could leak.

## Test plan

Run `make test`.

## Rollback

Undo the run.

## Open questions

None.

## Acceptance criteria

- People can log in

## See also

- https://example.org/login.html
"""


def test_f24_every_section_is_read() -> None:
    found = plan_structure(WHOLE.encode())
    assert found == PlanStructure(
        "Add login",
        ("src/login.py", "Makefile", "src/app.py", "docs/login.md"),
        {
            "overview": "Let people log in.",
            "steps": "- [ ] 1 Write `src/login.py`",
            "files": "- `src/login.py` is new\n- Makefile\n- src/app.py: calls it\n"
            "| `docs/login.md` | new |",
            "risks": "Passwords could leak.",
            "tests": "Run `make test`.",
            "rollback": "Undo the run.",
            "success_criteria": "- People can log in",
            "references": "- https://example.org/login.html",
        },
    )
    assert found.verifies
    assert found.missing(steps=True, files=False) == ()


def test_f24_what_is_missing_is_named() -> None:
    parts = ("title", "overview", "steps", "files", "verification")
    assert plan_structure(b"").missing(steps=False, files=False) == parts
    bare = plan_structure(b"# Title\n\nBecause.\n")
    assert (bare.title, bare.overview) == ("Title", "Because.")
    assert bare.missing(steps=True, files=True) == ("verification",)


@pytest.mark.parametrize(
    ("heading", "kinds"),
    [
        ("Verification", {"tests"}),
        ("3. How to verify:", {"tests"}),
        ("✅ **Testing strategy**", {"tests"}),
        ("Testing and rollback", {"tests", "rollback"}),
        ("Goal & context", {"overview"}),
        ("Definition of Done", {"success_criteria"}),
        ("Phase 2: the database", {"steps"}),
        ("Step 1 — rename", {"steps"}),
        ("OPEN QUESTIONS?", {"open_questions"}),
        ("Trade-offs", {"risks"}),
        ("Backend", set()),
        ("Verification of nothing in particular", set()),
        ("", set()),
        ("###", set()),
    ],
)
def test_headings_have_synonyms(heading: str, kinds: set[SectionKind]) -> None:
    assert section_kinds(heading) == kinds


def test_no_heading_means_two_kinds() -> None:
    names = [name for names in HEADINGS.values() for name in names.split(", ")]
    assert len(names) == len(set(names))
    assert all(section_kinds(name.title()) for name in names)


@pytest.mark.parametrize(
    "text",
    [
        "# T\n\nVerification\n---\n\nRun it.\n",
        "# T\n\nVerification\n============\nRun it.\n",
        "# T\n###### verification ######\nRun it.\n",
        "# T\r\n## Verification\r\nRun it.\r\n",
        "# T\n## Verification\n### By hand\nRun it.\n",
        "\ufeff# T\n## Verification\n```\nmake test\n```\nRun it.\n",
        "T\n=\n   ## Verification\nRun it.\n",
    ],
)
def test_f27_verification_at_any_level(text: str) -> None:
    found = plan_structure(text.encode())
    assert found.sections["tests"].endswith("Run it.")
    assert found.title == "T"


@pytest.mark.parametrize(
    "text",
    [
        "# T\n```\n## Verification\nRun it.\n```\n",
        "# T\n~~~~ md\n```\n## Verification\nRun it.\n",  # never closed
        "# T\n<!--\n## Verification\nRun it.\n-->\n",
        "# T\n    ## Verification\nRun it.\n",
        "# T\n#Verification\nRun it.\n",
        "# T\n## Verification\n",
        "# T\n## Verification\n\n- [ ] \n",
        "# T\n## Verification\nTBD.\n",
        "# T\n## Verification\n## Rollback\nUndo it.\n",
        "# T\n> ## Verification\n> Run it.\n",
        "---\nverification: |\n## Verification\nRun it.\n---\n# T\n",
    ],
)
def test_f27_what_is_no_section_or_says_nothing_verifies_nothing(text: str) -> None:
    assert not plan_structure(text.encode()).verifies


def test_a_title_that_names_a_section_is_a_title_only_if_it_stands_alone() -> None:
    assert plan_structure(b"# Plan\n## Verification\nRun it.\n").title == "Plan"
    apart = plan_structure(b"# Goal\nA.\n# Steps\nB.\n# Tests\nC.\n")
    assert (apart.title, apart.overview, apart.sections["tests"]) == ("", "A.", "C.")
    assert plan_structure(b"# Rollback\n## Steps\n- [ ] a\n").sections.keys() == {"steps"}


def test_f23_a_new_template_is_recognized() -> None:
    template = plan_template("add_login", "Let people log in")
    found = plan_structure(template)
    assert (found.title, found.overview) == ("Add login", "Let people log in")
    assert found.is_template
    assert not found.verifies
    edited = template.replace(b"How a reader can tell that it worked.", b"Run it.")
    assert plan_structure(edited).verifies
    assert not plan_structure(edited).is_template
    assert plan_structure(plan_template("x", "")).overview == ""


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("Edit src/a.py, and `b/Makefile`.", ("b/Makefile", "src/a.py")),
        ("See https://example.org/a.html and/or 1.2", ()),
        ("(README.md)", ("README.md",)),
        ("`a b.py`", ()),
        ("`", ()),
        ("Edit **src/a.py**.", ("src/a.py",)),
        ("Edit _src/a.py_, and __init__.py!", ("src/a.py", "__init__.py")),
        ("See [src/a.py](src/b.py).", ("src/a.py", "src/b.py")),
        ("At src/a.py:4 and `src/b.py:4-9`", ("src/b.py", "src/a.py")),
        ("src/a.py's end, (.github/ci.yml)", ("src/a.py", ".github/ci.yml")),
    ],
)
def test_paths_are_told_from_words(text: str, paths: tuple[str, ...]) -> None:
    assert named_paths(text) == paths


PIECES = st.sampled_from(
    ["# ", "## ", "Verification", "Steps", "```", "~~~", "\n", "\r\n", "- [ ] ", "1. ", "---\n",
     "===\n", "<!--", "-->", "`a.py`", "|", "> ", "\t", "    ", "x", "\x85", "\u2028", "(after 1)"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=60).map("".join) | st.text(max_size=200))
def test_any_text_has_a_structure(text: str) -> None:
    found = plan_structure(text.encode("utf-8", "surrogatepass"))
    assert all(said.strip() for said in found.sections.values())
    numbers = [line.number for line in markdown_lines(text.encode("utf-8", "surrogatepass"))]
    assert numbers == sorted(set(numbers))


@pytest.mark.parametrize(
    "piece",
    [
        "# a\n", "```\n", "`", "<!--", "- [ ] a\n", "- ", " ", "\t", "#", "#" * 6 + " Tests\n",
        "## Files\n- `a.py`\n", "a\n---\n", "## Tests and rollback\n", "*", "(after ", "---\n", "|",
        "and ", "## x and y/z\n",
    ],
)  # fmt: skip
def test_time_grows_with_the_text_and_no_faster(piece: str) -> None:
    def seconds(size: int) -> float:
        text = (piece * (size // len(piece))).encode()
        began = process_time()
        plan_structure(text)
        return process_time() - began

    seconds(20_000)
    # Linear is 8 times as long; quadratic would be 64 times, and seconds long.
    assert seconds(240_000) < 24 * min(seconds(30_000) for _ in range(3)) + 0.1
