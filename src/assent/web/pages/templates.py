"""Templates of pages: everything is escaped, and no hidden character stays hidden."""

import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from assent.core.text.hidden_chars import visible, visible_line, visible_path, visible_text
from assent.render.diff import diff_lines
from assent.render.lines import counted, local_time
from assent.render.questions import age_text
from assent.web.pages.markdown import markdown_html
from assent.web.pages.static_files import static_url

FOLDER: Final = os.path.join(os.path.dirname(__file__), "templates")
SHORT_DIGEST: Final = 12  # characters
PIECE_CHARS: Final = 8_192  # of a page that is sent in pieces


def render(name: str, values: Mapping[str, Any]) -> str:
    """Returns a template of ours with values in it."""
    return template_named(name).render(values)


def template_named(name: str) -> Template:
    """Returns a template of ours."""
    return environment().get_template(name)


def render_pieces(template: Template, values: Mapping[str, Any]) -> Iterator[str]:
    """Yields a template with values in it, in pieces as soon as they are large enough to send.

    A value that is an iterator is asked for its next one when the pieces before it were taken.
    """
    piece: list[str] = []
    size = 0
    for text in template.generate(values):
        piece.append(text)
        size += len(text)
        if size >= PIECE_CHARS:
            yield "".join(piece)
            piece, size = [], 0
    yield "".join(piece)


@cache
def environment() -> Environment:
    """Returns the environment of all templates.

    What a template shows is escaped, and hidden characters in it are written out. The filters show
    text in a narrower form; `exact` is for what a form sends back unchanged.
    """
    found = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    found.filters |= {
        "line": lambda text: _escaped(visible_line(str(text))),
        "code": lambda text: _escaped(visible(str(text))),
        "path": lambda path: _escaped(visible_path(_as_bytes(path))),
        "exact": lambda text: _escaped(str(text)),
        "short": lambda text: _escaped(visible_line(str(text))[:SHORT_DIGEST]),
        "age": lambda seconds: f"{age_text(int(seconds))} ago",
        "when": when,
        "count": counted,
        "markdown": markdown_html,
        "diff": diff_html,
    }
    found.globals["static"] = static_url
    return found


def when(at: str) -> Markup:
    """Returns a time as an element: how long ago, and the time itself on hovering."""
    try:
        passed = datetime.now(UTC) - datetime.fromisoformat(at)
    except (ValueError, TypeError):
        return _escaped(visible_line(at))
    seconds = int(passed.total_seconds())
    ago = f"{age_text(seconds)} ago" if seconds > 0 else "now"
    return Markup('<time datetime="{}" title="{}">{}</time>').format(at, local_time(at), ago)


def diff_html(patch: str) -> Markup:
    """Returns a diff with its signs in colour."""
    line = Markup('<span class="d-{}">{}</span>')
    return Markup("\n").join([line.format(each.style, each.text) for each in diff_lines(patch)])


def _shown(value: Any) -> Any:
    """Writes out hidden characters of every text that a template shows."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return visible_text(value)
    return "" if value is None else value


def _escaped(text: str) -> Markup:
    return Markup.escape(text)


def _as_bytes(path: object) -> bytes:
    return path if isinstance(path, bytes) else str(path).encode("utf-8", "surrogateescape")
