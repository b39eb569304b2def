"""The first start without a model: what was searched, what was found, and what to do next."""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from assent.core.text.hidden_chars import visible_line
from assent.render.lines import Line, Span, counted, wrapped_lines

NO_MODEL_YET: Final = "No model available yet."
NO_KEY: Final = "No API key found."
DEMO: Final = "F9 or /demo opens a demo with a scratch folder and a scripted model."
USABLE: Final = "You can still review, approve, build and undo plans: /plans, /waiting."
_STEPS: Final = (
    ("/login", "store an API key; in a shell: assent login"),
    ("export ANTHROPIC_API_KEY=...", "then restart; others: docs/models.md"),
    ("ollama serve", "run a local model"),
)
_WIDTH: Final = max(len(command) for command, _ in _STEPS) + 2


class LocalModelServer(msgspec.Struct, frozen=True):
    """A model server on this machine, and how many models it has; None: it did not answer."""

    name: str
    models: int | None = None


class SetupFindings(msgspec.Struct, frozen=True):
    """The keys and model servers that were found; keys are named by their variables."""

    keys: tuple[str, ...] = ()  # variables that are set
    servers: tuple[LocalModelServer, ...] = ()
    trouble: str = ""  # why no model could be chosen, where something else is wrong


def onboarding_lines(found: SetupFindings) -> Iterator[Line]:
    """Renders what was found, and the literal next steps, in few rows."""
    yield Line("heading", NO_MODEL_YET)
    if found.trouble:
        yield from wrapped_lines("risk", visible_line(found.trouble))
    keys = f"API key found: {', '.join(found.keys)}." if found.keys else NO_KEY
    yield from wrapped_lines("plain", visible_line(" ".join([keys, *_servers(found.servers)])))
    for command, about in _STEPS:
        spans = (Span(f"  {command:<{_WIDTH}}", "code"), Span(about))
        yield Line("plain", "".join([span.text for span in spans]), spans)
    yield Line("heading", DEMO)
    yield Line("dim", USABLE)


def _servers(servers: Sequence[LocalModelServer]) -> Iterator[str]:
    for server in servers:
        if server.models is not None:
            yield f"{server.name} is running with {counted(server.models, 'model')}."
    if silent := [server.name for server in servers if server.models is None]:
        yield f"No answer from {', '.join(silent)}."
