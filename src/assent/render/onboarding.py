"""The first start without a model: what was searched, what was found, and what to do next."""

from collections.abc import Iterator
from typing import Final

import msgspec

from assent.core.text.hidden_chars import visible_line
from assent.render.lines import BLANK, Line, table_lines, wrapped_lines

API_KEY_VARIABLES: Final = "ANTHROPIC_API_KEY", "OPENAI_API_KEY"
USABLE: Final = (
    "Without a model you can still review, approve, build and undo plans: /plans, /waiting."
)


class LocalModelServer(msgspec.Struct, frozen=True):
    """A model server on this machine, and how many models it has; None: it did not answer."""

    name: str
    where: str
    models: int | None = None


class SetupFindings(msgspec.Struct, frozen=True):
    """The keys and model servers that were found; keys are named by their variables."""

    keys: tuple[str, ...] = ()  # variables that are set
    looked_for: tuple[str, ...] = ()  # variables that would do
    servers: tuple[LocalModelServer, ...] = ()
    trouble: str = ""  # why no model could be chosen, where something else is wrong


def onboarding_lines(found: SetupFindings) -> Iterator[Line]:
    """Renders what was found, and the literal next steps."""
    yield Line("heading", "No model available yet.")
    if found.trouble:
        yield from wrapped_lines("risk", visible_line(found.trouble))
    yield BLANK
    yield from _keys(found)
    yield from table_lines("plain", [_server(server) for server in found.servers])
    yield BLANK
    yield Line("plain", "Do one of these:")
    yield Line(
        "code", "  /login                         store an API key (in a shell: assent login)"
    )
    yield Line(
        "code", f"  export {API_KEY_VARIABLES[0]}=...   then restart assent; others: docs/models.md"
    )
    yield Line("code", "  ollama serve                   run a local model")
    yield BLANK
    yield Line("heading", "F9 or /demo opens a demo with a scratch folder and a scripted model.")
    yield from wrapped_lines("dim", USABLE)


def _keys(found: SetupFindings) -> Iterator[Line]:
    if found.keys:
        yield Line("plain", f"API keys found: {', '.join(map(visible_line, found.keys))}")
    else:
        yield Line("plain", "No API key found in the environment. Checked:")
        yield from wrapped_lines("dim", "  " + " ".join(map(visible_line, found.looked_for)))


def _server(server: LocalModelServer) -> tuple[str, str, str]:
    if server.models is None:
        state = "no answer"
    else:
        state = f"running, {server.models} model{'' if server.models == 1 else 's'}"
    return f"{visible_line(server.name)}", visible_line(server.where), state
