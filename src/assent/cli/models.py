"""`assent models`: lists the models that can be used here and why, and asks one of them."""

import sys
from collections.abc import Iterable, Sequence
from contextlib import closing
from typing import Any

import click
import msgspec

from assent.app.models import open_models
from assent.cli.invocation import Invocation, with_invocation
from assent.cli.options import examples
from assent.cli.output import CliOutput, VisibleOutput, ignore_closed_stdout
from assent.cli.stdin import MAX_STDIN_BYTES, TRUNCATED_NOTE, read_piped
from assent.core.llm import (
    ChatMessage,
    ModelRequest,
    PartCompleted,
    RequestRetried,
    StopReason,
    StreamDelta,
    StreamEnded,
    TextPart,
)
from assent.core.text.hidden_chars import visible_line
from assent.ports import ModelStream
from assent.render.lines import Line

# Renders the models that can be used here, and why.


NONE = "No model available: no API key set, no provider configured, no local server running."
NEXT = "Next: assent login, or export ANTHROPIC_API_KEY=..., or start a local server"


def models_lines(rows: Sequence[dict[str, Any]]) -> Iterable[Line]:
    """Renders a line for each model, under the reason why it can be used."""
    if not rows:
        yield Line("plain", NONE)
        yield Line("plain", NEXT)
    why = ""
    width = max((len(visible_line(row["model"])) for row in rows), default=0)
    for row in rows:
        if row["why"] != why:
            why = row["why"]
            yield Line("heading", f"{row['provider']}: {visible_line(why)}")
        mark = "*" if row["default"] else " "
        yield Line("plain", f"{mark} {visible_line(row['model']):{width}}  {_limits(row)}".rstrip())
    if any(row["default"] for row in rows):
        yield Line("dim", "* default model")


def _limits(row: dict[str, Any]) -> str:
    words = ((row["context"], "context"), (row["output"], "output"))
    limits = [f"{word} {number:,}" for number, word in words if number]
    return ", ".join([*limits, *(["no images"] if row["images"] is False else [])])


@click.group(epilog=examples("assent models list\nassent models ask openai 'What is a monad?'"))
def models() -> None:
    """List available models, or ask one."""


@models.command(
    "list",
    epilog=examples("assent models list\nassent models list openai\nassent models list --json"),
)
@click.argument("provider", required=False, default="")
@with_invocation
def list_models(call: Invocation, provider: str) -> None:
    """List available models and why they are available. Of all providers, or of PROVIDER.

    Providers with a key are listed from the catalog; other servers are queried.
    """
    opened, warnings = open_models(call.folder)
    found, troubles = opened.found()
    critic = opened.critic_problem()
    call.output.warn((*warnings, *troubles, *([critic] if critic else [])))
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
@with_invocation
def ask(call: Invocation, model: str, text: str) -> int:
    """Ask MODEL one question, without tools, and print its answer. Piped input is added.

    On a terminal the answer streams; elsewhere it is printed when complete, so it never contains
    text of a failed attempt. Exits with 1 if the answer is refused or cut off.
    """
    opened, warnings = open_models(call.folder)
    warn = _ModelWarnings(call.output, warnings)
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


class _ModelWarnings:
    """Tells warnings as they come; in JSON only with an answer, because an error stands alone."""

    def __init__(self, output: CliOutput, first: Iterable[str]) -> None:
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
    content, more = read_piped(MAX_STDIN_BYTES)
    return f"\n\n{content}{TRUNCATED_NOTE if more else ''}" if content.strip() else ""


def _said(output: CliOutput, answers: ModelStream, warn: _ModelWarnings) -> tuple[str, StreamEnded]:
    """Prints an answer, live on a terminal, and returns it."""
    live = sys.stdout.isatty() and not output.as_json
    paper = (
        _LiveAnswerOutput()
        if live
        else _BufferedAnswerOutput()
        if not output.as_json
        else _AnswerOutput()
    )
    texts: list[str] = []
    stopped = StreamEnded(StopReason.END)
    for answer in answers:
        match answer:
            case StreamDelta(kind="text", text=piece):
                paper.write(piece)
            case RequestRetried(attempt, wait, reason):
                paper.restart()
                texts.clear()
                warn.tell(f"{reason} Retrying in {wait:.0f} s (attempt {attempt + 1}).")
            case PartCompleted(part=TextPart(text)):
                texts.append(text)
            case StreamEnded():
                stopped = answer
            case _:
                pass
    said = "".join(texts)
    paper.end(said)
    return said, stopped


class _AnswerOutput:
    """Where an answer appears: here, nowhere."""

    def write(self, piece: str) -> None:
        """Takes a piece that may still turn out not to count."""

    def restart(self) -> None:
        """Learns that it does not."""

    def end(self, said: str) -> None:
        """Takes the whole."""


class _BufferedAnswerOutput(_AnswerOutput):
    """A file or a pipe: what is written there cannot be withdrawn."""

    def end(self, said: str) -> None:
        with ignore_closed_stdout():
            sys.stdout.write(said if said.endswith("\n") or not said else f"{said}\n")


class _LiveAnswerOutput(_AnswerOutput):
    """A terminal on which an answer appears; what would steer it is made visible."""

    def __init__(self) -> None:
        self._visible = VisibleOutput()
        self._begun = False

    def write(self, piece: str) -> None:
        self._show(piece, last=False)
        self._begun = True

    def restart(self) -> None:
        if self._begun:
            self._show("\n(The answer above was cut off and is discarded.)\n", last=True)
        self._visible, self._begun = VisibleOutput(), False

    def end(self, said: str) -> None:
        self._show("" if said.endswith("\n") else "\n", last=True)

    def _show(self, text: str, *, last: bool) -> None:
        with ignore_closed_stdout():
            sys.stdout.write(self._visible.text(text.encode("utf-8", "replace"), last=last))


def _verdict(stopped: StreamEnded, name: str) -> str:
    """Says why an answer is not what was asked for; empty if it is."""
    if stopped.stop is StopReason.REFUSED:
        words = f": {stopped.words}" if stopped.words else ""
        return f"{name} refused to answer{words}."
    if stopped.stop is StopReason.LENGTH:
        return f"{name} stopped early: its answer reached the length limit."
    return ""
