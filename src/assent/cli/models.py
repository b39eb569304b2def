"""`assent models`: which models can be used here, and one question to one of them."""

import sys
from collections.abc import Iterable
from contextlib import closing

import click
import msgspec

from assent.cli.call import Call, examples, takes_call
from assent.cli.output import Output, reader
from assent.cli.source import piped
from assent.cli.talk import CUT, MOST_CONTEXT
from assent.core.llm.message import ChatMessage, TextPart
from assent.core.llm.request import (
    ModelRequest,
    PartCompleted,
    RequestRetried,
    StopReason,
    StreamDelta,
    StreamEnded,
)
from assent.ports import ModelStream
from assent.views.models import models_lines
from assent.views.shell import Visible


@click.group(epilog=examples("assent models list\nassent models ask openai 'What is a monad?'"))
def models() -> None:
    """Show which models can be used here, and ask one of them."""


@models.command(
    "list",
    epilog=examples("assent models list\nassent models list openai\nassent models list --json"),
)
@click.argument("provider", required=False, default="")
@takes_call
def list_models(call: Call, provider: str) -> None:
    """List the models that can be used here and why. Of all providers, or of PROVIDER.

    Providers with a key are listed from the catalogue, servers elsewhere are asked.
    """
    from assent.app.models import open_models

    opened, warnings = open_models(call.folder)
    found, troubles = opened.found()
    call.output.warn((*warnings, *troubles))
    rows = [msgspec.to_builtins(row) for row in found if provider in ("", row.provider)]
    call.output.answer({"models": rows}, models_lines(rows))


@models.command(
    epilog=examples(
        "assent models ask anthropic/claude-sonnet-5-5 'What is a monad?'\n"
        "assent models ask scripted:answers.json 'Hello'\n"
        "git diff | assent models ask openai 'Review this' --json"
    )
)
@click.argument("model")
@click.argument("text")
@takes_call
def ask(call: Call, model: str, text: str) -> int:
    """Ask MODEL one question, without tools, and print its answer. A pipe on stdin is added.

    On a terminal the answer appears as it comes; elsewhere only when it is complete, so that what a
    failed attempt had said is never in it. An answer that is refused or cut off exits with 1.
    """
    from assent.app.models import open_models

    opened, warnings = open_models(call.folder)
    warn = _Warnings(call.output, warnings)
    with closing(opened):
        chosen = opened.open(model)
        prompt = ModelRequest((), (ChatMessage("user", (TextPart(text + _piped()),)),))
        with closing(chosen.model.stream(prompt)) as answers:
            said, stopped = _said(call.output, answers, warn)
    if call.output.as_json:
        row = {"model": chosen.name, "text": said, "stop": stopped.stop, "usage": stopped.usage}
        call.output.answer(msgspec.to_builtins(row))
    verdict = _verdict(stopped, chosen.name)
    warn.end(verdict)
    return 1 if verdict else 0


class _Warnings:
    """Tells warnings as they come; in JSON only with an answer, because an error stands alone."""

    def __init__(self, output: Output, first: Iterable[str]) -> None:
        self._output = output
        self._held: list[str] = []
        for warning in first:
            self.tell(warning)

    def tell(self, warning: str) -> None:
        if self._output.as_json:
            self._held.append(warning)
        else:
            self._output.warn([warning])

    def end(self, verdict: str) -> None:
        self._output.warn([*self._held, *([verdict] if verdict else [])])


def _piped() -> str:
    """Returns what was piped in, under the question."""
    content, more = piped(MOST_CONTEXT)
    return f"\n\n{content}{CUT if more else ''}" if content.strip() else ""


def _said(output: Output, answers: ModelStream, warn: _Warnings) -> tuple[str, StreamEnded]:
    """Prints an answer, live where somebody is watching, and returns it."""
    live = sys.stdout.isatty() and not output.as_json
    paper = _Live() if live else _Later() if not output.as_json else _Paper()
    texts: list[str] = []
    stopped = StreamEnded(StopReason.END)
    for answer in answers:
        match answer:
            case StreamDelta(kind="text", text=piece):
                paper.write(piece)
            case RequestRetried(attempt, wait, reason):
                paper.restart()
                texts.clear()
                warn.tell(f"{reason} Try {attempt + 1} follows in {wait:.0f} s.")
            case PartCompleted(part=TextPart(text)):
                texts.append(text)
            case StreamEnded():
                stopped = answer
            case _:
                pass
    said = "".join(texts)
    paper.end(said)
    return said, stopped


class _Paper:
    """Where an answer appears: here, nowhere."""

    def write(self, piece: str) -> None:
        """Takes a piece that may still turn out not to count."""

    def restart(self) -> None:
        """Learns that it does not."""

    def end(self, said: str) -> None:
        """Takes the whole."""


class _Later(_Paper):
    """A file or a pipe, from which nothing can be taken back."""

    def end(self, said: str) -> None:
        with reader():
            sys.stdout.write(said if said.endswith("\n") or not said else f"{said}\n")


class _Live(_Paper):
    """A terminal on which an answer appears; what would steer it is made visible."""

    def __init__(self) -> None:
        self._visible = Visible()
        self._begun = False

    def write(self, piece: str) -> None:
        self._show(piece, last=False)
        self._begun = True

    def restart(self) -> None:
        if self._begun:
            self._show("\n(This was cut off and does not count.)\n", last=True)
        self._visible, self._begun = Visible(), False

    def end(self, said: str) -> None:
        self._show("" if said.endswith("\n") else "\n", last=True)

    def _show(self, text: str, *, last: bool) -> None:
        with reader():
            sys.stdout.write(self._visible.text(text.encode("utf-8", "replace"), last=last))


def _verdict(stopped: StreamEnded, name: str) -> str:
    """Says why an answer is not what was asked for; empty if it is."""
    if stopped.stop is StopReason.REFUSED:
        words = f": {stopped.words}" if stopped.words else ""
        return f"{name} refused to answer{words}."
    if stopped.stop is StopReason.LENGTH:
        return f"{name} stopped in the middle, because its answer was too long."
    return ""
