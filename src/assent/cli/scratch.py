"""`assent scratch …`: lists, shows and removes scratch copies of the workspace."""

from collections.abc import Callable, Iterator, Sequence

import click

from assent.app.scratch import open_scratch, refused_cache_variables
from assent.cli.invocation import Invocation, with_invocation
from assent.cli.options import examples
from assent.cli.output import current_time
from assent.cli.runs import size_text
from assent.core.errors import Busy, NotFound, UsageError
from assent.core.scratch import ScratchInfo
from assent.core.text.hidden_chars import visible_line
from assent.render.lines import Line, relative_time, table_lines
from assent.render.scratch import backend_lines, backend_row, scratch_info_row

LIST = "assent scratch list"
IN_USE = "In use by another process: {names}."
TITLE = ("NAME", "BACKEND", "SIZE", "LAST USED", "")


@click.group(epilog=examples("assent scratch list\nassent scratch clear shell"))
def scratch() -> None:
    """List, show and remove scratch copies.

    A scratch copy is the workspace with the draft on top. Commands that run in it change nothing
    real. Each session has its own.
    """


@scratch.command("list", epilog=examples("assent scratch list\nassent scratch list --json"))
@with_invocation
def list_copies(call: Invocation) -> None:
    """List the scratch copies of this workspace, last used first."""
    copies = open_scratch(call.folder)
    infos = copies.infos()
    row = {
        "copies": [scratch_info_row(info) for info in infos],
        "backend": backend_row(copies.known_backend()),
    }
    call.output.answer(row, copy_lines(infos))


@scratch.command(epilog=examples("assent scratch show\nassent scratch show shell --json"))
@click.argument("name", required=False)
@with_invocation
def show(call: Invocation, name: str | None) -> None:
    """Show how scratch copies are made here, or one of them.

    Without NAME, it is tried for real, and the reason for the choice is shown.
    """
    copies = open_scratch(call.folder)
    if name is None:
        call.output.warn(refused_cache_variables())
        backend = copies.backend()
        call.output.answer({"backend": backend_row(backend)}, backend_lines(backend))
        return
    found = [info for info in copies.infos() if info.name == name]
    if not found:
        raise NotFound(f"No scratch copy named {name}.", LIST)
    call.output.answer({"copy": scratch_info_row(found[0])}, copy_lines(found))


@scratch.command(epilog=examples("assent scratch clear shell\nassent scratch clear --all"))
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--all", "everything", is_flag=True, help="Remove all copies of this workspace.")
@with_invocation
def clear(call: Invocation, names: Sequence[str], everything: bool) -> int:
    """Remove scratch copies from the disk. Nothing in the workspace changes.

    Copies that were not used for scratch.keep_days are removed by themselves. Exits with 1 if a
    process still uses one; the others are removed.
    """
    if everything == bool(names):
        raise UsageError("Name scratch copies, or pass --all.", LIST)
    copies = open_scratch(call.folder)
    swept = copies.sweep()
    copies.check_known(name for name in names if name not in swept)
    chosen = [info.name for info in copies.infos(sizes=False)] if everything else list(names)
    chosen = [name for name in chosen if name not in swept]  # it was a leftover, and is gone
    used = [name for name in chosen if not _removed(copies.remove, name)]
    removed = sorted({*swept, *chosen}.difference(used))
    if used and not removed:
        raise Busy(IN_USE.format(names=_listed(used)), LIST)
    lines = [Line("plain", f"Removed: {_listed(removed)}" if removed else "Nothing to remove.")]
    lines += [Line("risk", IN_USE.format(names=_listed(used)))] if used else []
    call.output.answer({"removed": removed, **({"in_use": used} if used else {})}, lines)
    return 1 if used else 0


def _removed(remove: Callable[[str], None], name: str) -> bool:
    """Removes a copy; tells whether no process uses it."""
    try:
        remove(name)
    except Busy:
        return False
    return True


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(visible_line, names))


def copy_lines(infos: Sequence[ScratchInfo]) -> Iterator[Line]:
    """Renders copies in aligned columns."""
    if not infos:
        yield Line("plain", "No scratch copies.")
        return
    now = current_time()
    rows = [
        (
            info.name,
            info.backend,
            size_text(info.size),
            relative_time(str(scratch_info_row(info)["used_at"]), now),
            "in use" if info.busy else "",
        )
        for info in infos
    ]
    first, *rest = table_lines("plain", [TITLE, *rows])
    yield Line("heading", first.text)
    yield from rest
