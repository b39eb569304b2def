"""Writes the man page from the commands, or checks that it is in step."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from assent.cli.registry import COMMANDS, overview
from assent.cli.root import root

PAGE = Path(__file__).resolve().parent.parent / "docs" / "assent.1"


def main(arguments: list[str]) -> int:
    """Writes the page, or with --check only says whether it is as it should be."""
    text = page()
    if "--check" in arguments:
        return int(not PAGE.is_file() or PAGE.read_text("utf-8") != text)
    PAGE.write_text(text, encoding="utf-8")
    return 0


def page() -> str:
    """Returns the man page: the overview, then every command with its options."""
    head, _, rest = overview().partition("\n\n")
    rows = [
        '.\\" Written by tools/man.py.',
        ".TH ASSENT 1",
        ".SH NAME",
        f"assent \\- {_text(head.removeprefix('Assent: '))}",
        ".SH DESCRIPTION",
        *_verbatim(rest.rstrip()),
        ".SH COMMANDS",
        *[row for name in COMMANDS for row in _command(name)],
        ".SH SEE ALSO",
        "assent help topics lists the documentation.",
    ]
    return "\n".join(rows) + "\n"


def _command(name: str) -> Iterator[str]:
    ctx = click.Context(root, info_name="assent", help_option_names=["-h", "--help"])
    command = root.get_command(ctx, name)
    if command is not None:
        yield from _of(command, click.Context(command, parent=ctx, info_name=name))


def _of(command: click.Command, ctx: click.Context) -> Iterator[str]:
    yield f".SS {_text(ctx.command_path)}"
    ctx.terminal_width = ctx.max_content_width = 78
    yield from _verbatim(command.get_help(ctx))
    if isinstance(command, click.Group):
        for name in command.list_commands(ctx):
            inner = command.get_command(ctx, name)
            if inner is not None:
                yield from _of(inner, click.Context(inner, parent=ctx, info_name=name))


def _verbatim(text: str) -> Iterator[str]:
    yield ".nf"
    yield from map(_text, text.splitlines())
    yield ".fi"


def _text(line: str) -> str:
    """Returns a line without anything that roff would take for a request."""
    escaped = line.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
