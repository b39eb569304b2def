"""`assent config …`: reads and changes settings, with the comments of the file kept."""

from collections.abc import Iterator, Sequence

import click

from assent.app.config import ConfigEditor, Setting, parsed_key, value_text
from assent.cli.invocation import Invocation, with_invocation
from assent.cli.options import ListGroup, ValueCommand, examples, reference_option
from assent.cli.stdin import argument_text
from assent.cli.terminal import has_terminal, read_reply
from assent.config.toml_edit import toml_literal
from assent.core.errors import AssentError, Declined, UsageError
from assent.core.text.hidden_chars import visible_line
from assent.core.text.secrets import redact
from assent.render.lines import Line, table_lines

PROJECT = click.option("--project", is_flag=True, help="Use the project's file, not your own.")
AGAIN = "Edit again? [Y/n] "


@click.group(
    cls=ListGroup,
    epilog=examples(
        "assent config list\nassent config set mode ask\nassent config get plan\n"
        "assent config set --project plan.export PLAN.md"
    ),
)
def config() -> None:
    """Show and change settings."""


@config.command("list", epilog=examples("assent config list\nassent config list --all"))
@click.option("--all", "everything", is_flag=True, help="Also show defaults, with their meaning.")
@with_invocation
def list_settings(call: Invocation, everything: bool) -> None:
    """List the settings that count here, and which file sets them."""
    found, warnings = ConfigEditor(call.folder).settings()
    rows = [each for each in found if everything or each.source != "default"]
    call.output.answer({"settings": [_row(each) for each in rows]}, _setting_lines(rows))
    call.output.warn(warnings)


@config.command(epilog=examples("assent config get mode\nassent config get providers --json"))
@click.argument("key", callback=reference_option)
@with_invocation
def get(call: Invocation, key: str) -> None:
    """Print a setting, or all settings of a table."""
    editor = ConfigEditor(call.folder)
    rows = editor.get(argument_text(key))
    if [each.key for each in rows] == [key]:
        lines = [Line("plain", visible_line(redact(value_text(rows[0].value))))]
    else:
        lines = [Line("plain", _assignment(each)) for each in rows]
    call.output.answer({"settings": [_row(each) for each in rows]}, lines)
    call.output.warn(editor.unread(argument_text(key)))


@config.command(
    "set",
    cls=ValueCommand,
    epilog=examples(
        "assent config set mode ask\nassent config set budget.dollars 2.5\n"
        "assent config set verify.commands '[\"make test\"]'"
    ),
)
@click.argument("key", callback=reference_option)
@click.argument("value")
@PROJECT
@with_invocation
def set_setting(call: Invocation, key: str, value: str, project: bool) -> None:
    """Set a setting in your own configuration.

    VALUE is a value of TOML, or else a text. It is checked before it is written; comments and all
    other lines stay.
    """
    editor = ConfigEditor(call.folder, project=project)
    found = editor.set(argument_text(key), argument_text(value))
    row = {"key": key, "value": found, "file": editor.path_text}
    lines = [
        Line("plain", visible_line(redact(f"{key} = {toml_literal(found)} in {editor.path_text}")))
    ]
    call.output.answer(row, lines)
    call.output.warn(editor.warnings)
    if editor.needs_trust(parsed_key(argument_text(key))):
        call.output.warn(["It counts after you trust the file: assent trust give"])


@config.command(epilog=examples("assent config unset mode"))
@click.argument("key", callback=reference_option)
@PROJECT
@with_invocation
def unset(call: Invocation, key: str, project: bool) -> None:
    """Remove a setting from your configuration."""
    editor = ConfigEditor(call.folder, project=project)
    editor.remove(parsed_key(argument_text(key)))
    call.output.answer(
        {"key": key, "file": editor.path_text},
        [Line("plain", f"{argument_text(key)} removed from {editor.path_text}")],
    )
    call.output.warn(editor.warnings)


@config.command(epilog=examples("assent config edit\nassent config edit --project"))
@PROJECT
@with_invocation
def edit(call: Invocation, project: bool) -> None:
    """Edit the configuration in $EDITOR.

    It is saved only if it is valid.
    """
    editor = ConfigEditor(call.folder, project=project)
    if call.no_input or not has_terminal():
        raise UsageError("No terminal to edit on.", "assent config set KEY VALUE")
    before = editor.text()
    text, saved = before, False
    while not saved:
        edited = _edited(text)
        if edited is None or edited == before:
            break
        text = edited
        try:
            editor.replace(before, text)
            saved = True
        except AssentError as error:
            call.output.warn([error.message])
            typed = read_reply(AGAIN)
            if typed is None or typed.strip().casefold() in {"n", "no"}:
                raise Declined(
                    "The edited text was discarded; the file is unchanged.", "assent config edit"
                ) from None
    call.output.answer(
        {"file": editor.path_text, "changed": saved},
        [Line("plain", f"{editor.path_text} {'saved' if saved else 'is unchanged'}.")],
    )


def _edited(text: str) -> str | None:
    """Returns a text as the user's editor leaves it; raises UsageError if the editor fails."""
    try:
        return click.edit(text, extension=".toml")
    except click.ClickException as error:
        why = "could not be started" if isinstance(error.__cause__, OSError) else "failed"
        editor = error.format_message().partition(": Editing failed")[0]
        raise UsageError(
            f"The editor {editor!a} {why}. Nothing was changed.",
            "export EDITOR=vi, then assent config edit",
        ) from None


def _setting_lines(rows: Sequence[Setting]) -> Iterator[Line]:
    if not rows:
        yield Line("plain", "Every setting has its default. Show them: assent config list --all")
        return
    cells = [(_assignment(each), f"({each.source})", visible_line(each.meaning)) for each in rows]
    yield from table_lines("plain", cells)


def _assignment(each: Setting) -> str:
    return visible_line(redact(f"{each.key} = {toml_literal(each.value)}"))


def _row(each: Setting) -> dict[str, object]:
    return {"key": each.key, "value": _masked(each.value), "source": each.source}


def _masked(value: object) -> object:
    """Returns a value without the keys in it."""
    match value:
        case str():
            return redact(value)
        case dict():
            return {key: _masked(of) for key, of in value.items()}
        case list() | tuple():
            return [_masked(of) for of in value]
        case _:
            return value
