"""Renders trust: what project files would do, risks first, and what is trusted."""

from collections.abc import Iterator, Sequence

from assent.core.paths import display_path
from assent.core.permission.trust import Consequence, ProjectFile, TrustedFile
from assent.core.text.hidden_chars import visible_line, visible_path
from assent.render.lines import BLANK, Line, table_lines, untrusted_lines, wrapped_lines
from assent.render.rows import Row

SHORT = 12  # characters of a digest in a list
TRUST_BY_CONTENT = "Trust is for this content alone: a changed byte, and it is ignored again."


def file_row(
    file: ProjectFile,
    does: Sequence[Consequence],
    *,
    trusted: bool,
    broken: str = "",
    changed: bool = False,
) -> Row:
    """Returns a file of a project as JSON shows it."""
    return {
        "path": file.path,
        "digest": file.content_hash,
        "trusted": trusted,
        "changed": changed,
        "does": [each.text for each in does],
        "risks": sum(each.risk for each in does),
        "waits": not trusted and not broken and any(each.counts for each in does),
        "broken": broken or None,
    }


def file_lines(rows: Sequence[Row]) -> Iterator[Line]:
    """Renders what each file would do, and the next command."""
    if not rows:
        yield Line("plain", "No file of this project asks for trust.")
        return
    for row in rows:
        yield Line("heading", f"{_path(row)}  {_standing(row)}")
        yield from _does(row)
        yield Line("digest", f"  digest  {row['digest']}")
        yield BLANK
    if any(row["waits"] for row in rows):
        yield Line("plain", "Next: assent trust give")


def trust_file_lines(row: Row, content: bytes) -> Iterator[Line]:
    """Renders all that a person needs to decide about one file: what it does, and every byte."""
    yield Line("heading", f"Trust {_path(row)}?")
    yield BLANK
    yield Line("plain", "It would do this, without asking again:")
    yield from _does(row)
    yield BLANK
    yield Line("heading", f"Its content, {len(content)} bytes")
    yield from untrusted_lines(content.decode("utf-8", "backslashreplace"))
    yield BLANK
    yield Line("plain", TRUST_BY_CONTENT)
    yield Line("digest", f"Digest: {row['digest']}")


def files_trusted_lines(rows: Sequence[Row]) -> Iterator[Line]:
    """Renders what is trusted from now on."""
    if not rows:
        yield Line("plain", "Nothing here waits for trust.")
    for row in rows:
        yield Line("plain", f"{_path(row)} is trusted, with exactly this content.")
    if rows:
        yield Line("plain", TRUST_BY_CONTENT)


def trust_revoked_lines(paths: Sequence[str]) -> Iterator[Line]:
    """Renders what is trusted no longer."""
    if not paths:
        yield Line("plain", "Nothing was trusted here.")
    for path in paths:
        yield Line("plain", f"{visible_line(path)} is not trusted any more.")


def trust_row(trust: TrustedFile) -> Row:
    """Returns one trusted content as JSON shows it."""
    return {
        "root": display_path(trust.root),
        "path": trust.path,
        "digest": trust.content_hash,
        "at": trust.at,
    }


def trust_lines(trusts: Sequence[TrustedFile]) -> Iterator[Line]:
    """Renders everything that is trusted on this machine."""
    if not trusts:
        yield Line("plain", "Nothing is trusted.")
        return
    rows = [
        (each.content_hash[:SHORT], each.at, visible_line(each.path), visible_path(each.root))
        for each in trusts
    ]
    first, *rest = table_lines("plain", [("DIGEST", "SINCE", "FILE", "WORKSPACE"), *rows])
    yield Line("heading", first.text)
    yield from rest


def _does(row: Row) -> Iterator[Line]:
    if row["broken"]:
        yield from wrapped_lines("risk", f"  ! {visible_line(str(row['broken']))}")
    risks = int(str(row["risks"]))
    does = row["does"] if isinstance(row["does"], list) else []
    for number, text in enumerate(does):
        risk = number < risks
        yield from wrapped_lines(
            "risk" if risk else "plain", f"  {'!' if risk else '-'} {_shown(text)}"
        )


def _shown(text: object) -> str:
    return visible_line(str(text))


def _path(row: Row) -> str:
    return _shown(row["path"])


def _standing(row: Row) -> str:
    if row["trusted"]:
        return "trusted"
    if row["changed"]:
        return "changed since you trusted it: none of this happens"
    waits = row["waits"] or row["broken"]
    return "not trusted: none of this happens" if waits else "asks for nothing"
