"""`assent help`: the documentation, which is part of the package, and the help of commands."""

import re
from collections.abc import Iterator

import click

from assent.app.documentation import read_topic, topics
from assent.cli.invocation import Invocation, with_invocation
from assent.cli.options import examples
from assent.cli.pager import print_paged
from assent.cli.registry import COMMANDS
from assent.core.errors import NotFound, nearest
from assent.core.text.hidden_chars import visible_line
from assent.render.lines import BLANK, Line, table_lines

TOPICS = "topics"  # lists them; a bare `assent help` is the overview of the commands
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_IMAGE = re.compile(r"!\[([^\]]*)\]\([^)]*\)")
_LINK = re.compile(r"\[([^\]]+)\]\(([^)#]*)[^)]*\)")


@click.command(
    "help", epilog=examples("assent help topics\nassent help configuration\nassent help approve")
)
@click.argument("words", metavar="[TOPIC]", nargs=-1)
@with_invocation
def help(call: Invocation, words: tuple[str, ...]) -> None:
    """Show the documentation of a topic, or list the topics. A command shows its help."""
    topic = " ".join(words) if words else None
    if topic is None or topic == TOPICS:
        found = topics()
        rows = [{"topic": name, "about": about} for name, about in found.items()]
        call.output.answer({"topics": rows}, _topic_lines(found))
        return
    text = read_topic(topic)
    if text is not None:
        if call.output.as_json:
            call.output.answer({"topic": topic, "text": text})
        else:
            print_paged(call.output, document_lines(text), folder=call.folder)
        return
    ctx = click.get_current_context().find_root()
    for word in words:
        group = ctx.command
        inner = group.get_command(ctx, word) if isinstance(group, click.Group) else None
        if inner is None:
            raise _unknown(topic)
        ctx = click.Context(inner, info_name=word, parent=ctx)
    text = ctx.get_help()
    call.output.answer({"topic": topic, "text": text}, _plain(text))


def document_lines(text: str) -> Iterator[Line]:
    """Renders a Markdown document for a terminal: its text, headings and code."""
    code = False
    for line in _COMMENT.sub("", text).splitlines():
        if line.lstrip().startswith("```"):
            code = not code
        elif code:
            yield Line("code", f"  {visible_line(line)}" if line else "")
        elif line.startswith("#"):
            yield Line("heading", visible_line(line.lstrip("# ")))
        else:
            yield Line("prose", visible_line(_LINK.sub(_linked, _IMAGE.sub(r"\1", line))))


def _linked(match: re.Match[str]) -> str:
    """Returns a link as its text; one to another document names that topic."""
    target = match[2].rpartition("/")[2]
    if target.endswith(".md") and match[1] != target:
        return f"{match[1]} (assent help {target.removesuffix('.md').lower()})"
    return match[1]


def _topic_lines(found: dict[str, str]) -> Iterator[Line]:
    yield Line("heading", "Topics:")
    yield from table_lines("plain", [(f"  {name}", about) for name, about in found.items()])
    yield BLANK
    yield Line("dim", "Next: assent help TOPIC, or assent --help for the commands")


def _plain(text: str) -> Iterator[Line]:
    return (Line("plain", line) for line in text.splitlines())


def _unknown(topic: str) -> NotFound:
    known = [*topics(), *COMMANDS]
    near = nearest(topic, known)
    hint = f" Did you mean {near}?" if near else ""
    return NotFound(
        f"There is no topic {topic!a}.{hint}", f"assent help {near}" if near else "assent help"
    )
