"""Evidence as people read it: what it says, and what that proves and does not."""

from collections.abc import Iterator

from assent.core.evidence import Statement
from assent.views.bundles import approval_row
from assent.views.lines import Line, table, wrapped
from assent.views.rows import Row
from assent.views.visible import visible_line

PROVES = (
    "The machine that holds the key says that exactly this plan was applied, with this outcome.",
    "Whoever holds the approval's key agreed to exactly this plan.",
)
NOT_PROVED = (
    "Who sat at those machines: a signature proves which key, not which person.",
    "That the files are still so: compare them with the digests.",
    "That the machine told the truth: its owner can sign what they like.",
)


def statement_row(statement: Statement) -> Row:
    """Returns what evidence says as one object."""
    return {
        "verified": True,
        "key": statement.key,
        "run": statement.run,
        "outcome": statement.outcome,
        "digest": statement.digest,
        "approval": approval_row(statement.approval),
        "files": [{"path": name, "sha256": digest} for name, digest in statement.files],
        "proves": list(PROVES),
        "not_proved": list(NOT_PROVED),
    }


def statement_lines(statement: Statement) -> Iterator[Line]:
    """Renders what evidence says, what it proves, and what nobody can know from it."""
    yes = statement.approval
    yield Line("heading", "The signatures hold.")
    yield from table(
        "plain",
        [
            ("run", visible_line(statement.run)),
            ("outcome", visible_line(statement.outcome)),
            ("plan", visible_line(statement.digest)),
            ("signed with", visible_line(statement.key)),
            ("approved by", f"{visible_line(yes.approver.user)}, {visible_line(yes.approved_at)}"),
            ("with the key", visible_line(yes.key)),
        ],
    )
    rows = [(digest, visible_line(name)) for name, digest in statement.files]
    yield from table("plain", rows)
    yield Line("plain", "What this proves:")
    for text in PROVES:
        yield from wrapped("plain", f"- {text}")
    yield Line("plain", "What it does not:")
    for text in NOT_PROVED:
        yield from wrapped("plain", f"- {text}")
