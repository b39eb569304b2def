"""`assent modes …`: lists, shows, exports and imports modes."""

from shlex import quote

import click

from assent.app.modes import ModeManager
from assent.cli.input import read_all
from assent.cli.invocation import Invocation, with_invocation
from assent.cli.options import ListGroup, examples
from assent.cli.terminal import has_terminal, read_reply
from assent.core.errors import Declined
from assent.core.permission.mode import CustomMode, resolve_mode
from assent.core.text.hidden_chars import visible, visible_path
from assent.render.lines import Line
from assent.render.modes import find_mode, mode_lines, mode_row, mode_rows, mode_toml, modes_lines

LIMIT = 64 * 1024
YES = ("y", "yes")
TERMINAL_NEEDED = "No terminal to ask on; pass --yes to confirm."


@click.group(
    cls=ListGroup, epilog=examples("assent modes list\nassent modes export review > review.toml")
)
def modes() -> None:
    """List, show, export and import custom modes."""


@modes.command("list", epilog=examples("assent modes list\nassent modes list --json"))
@with_invocation
def list_modes(call: Invocation) -> None:
    """List all modes: built-in, yours and the project's."""
    mode_manager = ModeManager(call.folder)
    rows = mode_rows(mode_manager.modes)
    call.output.answer({"modes": rows}, modes_lines(rows))
    call.output.warn(mode_manager.warnings)


@modes.command(epilog=examples("assent modes show review\nassent modes show plan --json"))
@click.argument("mode", metavar="ID")
@with_invocation
def show(call: Invocation, mode: str) -> None:
    """Show a mode: its base and its restrictions."""
    mode_manager = ModeManager(call.folder)
    one = _named(mode_manager, mode)
    call.output.answer(mode_row(one), mode_lines(one))
    call.output.warn(mode_manager.warnings)


@modes.command(epilog=examples("assent modes export review > review.toml"))
@click.argument("mode", metavar="ID")
@with_invocation
def export(call: Invocation, mode: str) -> None:
    """Print a mode in the format `assent modes import` reads."""
    one = _named(ModeManager(call.folder), mode)
    snippet = mode_toml(one)
    lines = [Line("plain", line) for line in visible(snippet).splitlines()]
    call.output.answer({"id": one.id, "toml": snippet}, lines)


@modes.command(
    "import", epilog=examples("assent modes import review.toml\nassent modes import - --yes")
)
@click.argument("source", metavar="FILE")
@click.option("--yes", is_flag=True, help="Don't ask for confirmation.")
@with_invocation
def import_modes(call: Invocation, source: str, yes: bool) -> None:
    """Add the modes in FILE to your own configuration. - is stdin."""
    mode_manager = ModeManager(call.folder)
    wanted = mode_manager.read(read_all(call.folder, source, LIMIT))
    if not yes and not _asked(call, mode_manager, wanted):
        why = "" if not call.no_input and has_terminal() else f" {TERMINAL_NEEDED}"
        raise Declined(
            f"Not added; nothing was changed.{why}", f"assent modes import {quote(source)} --yes"
        )
    mode_manager.add(wanted)
    rows = [mode_row(mode) for mode in wanted]
    file = visible_path(str(mode_manager.file).encode("utf-8", "surrogateescape"))
    lines = [Line("plain", f"Mode {mode.id} added to {file}.") for mode in wanted]
    call.output.answer({"modes": rows, "file": str(mode_manager.file)}, lines)


def _named(mode_manager: ModeManager, name: str) -> CustomMode:
    resolve_mode(name, mode_manager.modes)  # raises if there is none
    return find_mode(name, mode_manager.modes)


def _asked(call: Invocation, mode_manager: ModeManager, wanted: list[CustomMode]) -> bool:
    """Shows the user what would be added, on their terminal; anything but yes counts as no."""
    if call.no_input:
        return False
    shown = visible("\n".join(map(mode_toml, wanted)))
    typed = read_reply(f"{shown}\nAdd this to {mode_manager.file}? [y/N] ")
    return (typed or "").strip().casefold() in YES
