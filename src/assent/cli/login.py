"""`assent login` and `assent logout`: stores the API key of a provider, and removes it."""

import os
import sys
from collections.abc import Iterator, Sequence

import click

from assent.app.login import PLACES, LoginManager, ProviderKey, stored_text
from assent.cli.invocation import Invocation, with_invocation
from assent.cli.options import examples, reference_option
from assent.cli.stdin import argument_text
from assent.cli.terminal import has_terminal, read_reply, read_secret
from assent.core.errors import Declined, NotFound, UsageError
from assent.core.text.hidden_chars import visible_line
from assent.render.lines import Line, table_lines

FIRST = "anthropic"  # where no provider is named
MAX_STDIN = 8192


@click.command(
    epilog=examples(
        "assent login\nassent login openai\nassent login --list\n"
        "pass show openai | assent login openai --stdin"
    )
)
@click.argument("provider", required=False, callback=reference_option)
@click.option("--stdin", "piped", is_flag=True, help="Read the key from stdin.")
@click.option("--file", is_flag=True, help="Use the credentials file even if there is a keyring.")
@click.option("--list", "listed", is_flag=True, help="List providers and where their keys are.")
@with_invocation
def login(call: Invocation, provider: str, piped: bool, file: bool, listed: bool) -> None:
    """Store the API key of a provider. It is read from the terminal without being shown.

    A key in the environment is used first, then one in the system keyring (with the extra
    assent[keyring]), then one in $XDG_CONFIG_HOME/assent/credentials, which only you can read. A
    key is never stored in a project, and commands in the sandbox never see one.
    """
    manager = LoginManager(call.folder, os.environ)
    if listed:
        if provider or piped or file:
            raise UsageError("--list takes no provider and no other option.", "assent login --list")
        rows = manager.providers()
        call.output.answer({"providers": [_row(each) for each in rows]}, provider_lines(rows))
        return
    name = manager.checked(argument_text(provider) if provider else _asked_provider(call, manager))
    manager.check_writable()
    key = _piped_key(name) if piped else _typed_key(call, name)
    place, why = manager.login(name, key, file=file)
    variable = manager.variable(name)
    call.output.answer(
        {"provider": name, "stored": place, "used": "environment" if variable else place},
        _login_lines(manager, name, place),
    )
    if why:
        call.output.warn([f"The system keyring is not used: {why}."])


@click.command(epilog=examples("assent logout openai"))
@click.argument("provider", callback=reference_option)
@with_invocation
def logout(call: Invocation, provider: str) -> None:
    """Remove the stored API key of a provider."""
    manager = LoginManager(call.folder, os.environ)
    name = argument_text(provider)
    place = manager.logout(name)
    if place is None:
        raise NotFound(f"No key is stored for {visible_line(name)}.", "assent login --list")
    variable = manager.variable(name)
    still = f" {variable} is still set and is used." if variable else ""
    call.output.answer(
        {"provider": name, "removed": place},
        [Line("plain", f"Key for {visible_line(name)} removed from the {PLACES[place]}.{still}")],
    )


def provider_lines(rows: Sequence[ProviderKey]) -> Iterator[Line]:
    """Renders each provider with the place of its key, never the key."""
    cells = [(visible_line(row.provider), PLACES[row.source], row.variable) for row in rows]
    first, *rest = table_lines("plain", [("PROVIDER", "KEY FROM", "VARIABLE"), *cells])
    yield Line("heading", first.text)
    yield from rest


def _row(each: ProviderKey) -> dict[str, object]:
    return {"provider": each.provider, "source": each.source, "variable": each.variable}


def _login_lines(manager: LoginManager, name: str, place: str) -> Iterator[Line]:
    for words in stored_text(manager, name, place).split("\n"):
        yield Line("plain", words)
    yield Line("dim", f"  next: assent models list {visible_line(name)}")


def _asked_provider(call: Invocation, manager: LoginManager) -> str:
    """Asks which provider is meant, on the user's terminal."""
    if call.no_input or not has_terminal():
        raise UsageError("Name the provider whose key to store.", f"assent login {FIRST}")
    names = ", ".join(each.provider for each in manager.providers())
    typed = read_reply(f"Providers: {names}\nProvider [{FIRST}]: ")
    if typed is None:
        raise Declined("Nothing was stored.", f"assent login {FIRST}")
    return typed.strip() or FIRST


def _typed_key(call: Invocation, provider: str) -> str:
    """Reads a key from the user's terminal, which does not show it."""
    command = f"assent login {provider} --stdin"
    if call.no_input or not has_terminal():
        raise UsageError("No terminal to read the key from; pipe it in with --stdin.", command)
    typed = read_secret(f"API key for {provider} (not shown): ")
    if typed is None or not typed.strip():
        raise Declined("No key was entered. Nothing was stored.", f"assent login {provider}")
    return typed.strip()


def _piped_key(provider: str) -> str:
    """Reads a key from stdin, to its end."""
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        raise UsageError(
            "--stdin reads a key that is piped in; without it, you are asked.",
            f"assent login {provider}",
        )
    content = sys.stdin.buffer.read(MAX_STDIN + 1) or b""
    return content.decode("utf-8", "replace").strip()
