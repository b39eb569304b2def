"""Pictures of the screen: small SVG files, the same whenever the same is on the screen."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path

from rich.cells import cell_len
from rich.color import Color
from rich.style import Style
from rich.terminal_theme import SVG_EXPORT_THEME
from textual._context import visible_screen_stack
from textual.app import App
from textual.widgets import Input, TextArea

from assent.tui.line_view import LineView

FOLDER = Path(__file__).parent / "snapshots"
ACCEPT = "ASSENT_SNAPSHOTS=accept make screens"
ASKED = os.environ.get("ASSENT_SNAPSHOTS", "")  # "all" sizes, or "accept" all of them
EVERY_SIZE = ASKED in ("all", "accept")
WIDE, HIGH = 8, 17  # of a cell, in pixels
FONT = "13.29px DejaVu Sans Mono,monospace"  # whose letters are that wide

# What is another every time, and what stands for it: of the same length, so that nothing moves.
CHANGING = (
    (re.compile(r"\b[0-7][0-9a-hjkmnp-tv-z]{25}\b"), "0"),
    (re.compile(r"\b[0-9a-f]{7,64}\b"), "0"),
    (re.compile(r"\b20\d\d-\d\d-\d\d([ T]\d\d:\d\d(:\d\d)?(\.\d+)?Z?)?"), "0"),
    (re.compile(r"\b\d\d:\d\d\b"), "0"),
    (re.compile(r"\b\d+(\.\d)? (s|min) ago\b"), "0"),
)
AGO = re.compile(r" {2,14}(just now|\d+ (s|min) ago)\b")  # aligned to the right
TOOK = re.compile(r"( for| ·)? \d+(\.\d)? s\b")  # which may be told or not, at any length

Run = tuple[int, str, Style]  # a column, what is written there, and how


def picture(app: App[int]) -> str:
    """Returns what is on the screen as SVG."""
    visible_screen_stack.set(app._background_screens)  # else what is behind a panel may be blank
    lines = [list(_runs(strip)) for strip in app.screen._compositor.render_strips()]
    grounds = Counter[str]()
    for _, text, style in (run for runs in lines for run in runs):
        grounds[_look(style)[1]] += cell_len(text)
    most = grounds.most_common(1)[0][0]
    looks: dict[str, int] = {}
    body = [
        part
        for row, runs in enumerate(lines)
        for run in runs
        for part in _drawn(row, run, most, looks)
    ]
    size = f'width="{app.size.width * WIDE}" height="{app.size.height * HIGH}"'
    styles = "".join(f".s{number}{{{look}}}" for look, number in looks.items())
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} xml:space="preserve">',
            f"<style>text{{font:{FONT};white-space:pre}}{styles}</style>",
            f'<rect width="100%" height="100%" fill="{most or "#14161a"}"/>',
            *body,
            "</svg>\n",
        ]
    )


def still(app: App[int]) -> None:
    """Takes away what depends on the moment of a picture: blinking cursors and marks."""
    for screen in app.screen_stack:
        screen._set_dirty()  # a panel keeps what is behind it as it once was
        screen._styles_cache.clear()
        for area in [*screen.query(TextArea), *screen.query(Input)]:
            area.cursor_blink = False
            if isinstance(area, TextArea):
                # A tick may still have hidden it, and a line be kept from that moment.
                area._pause_blink(visible=area.has_focus)
                area._line_cache.clear()
                area._styles_cache.clear()
        for paper in screen.query(LineView):
            paper.mark({})  # what is marked as new depends on when somebody looked before


def letters(svg: str) -> list[str]:
    """Returns what can be read in a picture."""
    return re.findall(r">([^<>]+)</text>", svg)


def compare(name: str, found: str, beside: Path) -> str:
    """Returns what is wrong with a picture; with the accepting word, makes it the right one."""
    kept = FOLDER / f"{name}.svg"
    if ASKED == "accept":
        kept.write_text(found, encoding="utf-8")
        return ""
    wanted = kept.read_text(encoding="utf-8") if kept.exists() else ""
    if wanted == found:
        return ""
    (beside / kept.name).write_text(found, encoding="utf-8")
    before, after = letters(wanted), letters(found)
    gone = [line for line in before if line not in after]
    come = [line for line in after if line not in before]
    told = "only how it looks changed" if not gone and not come else f"- {gone}\n  + {come}"
    return f"{name}: {kept} is not what is on the screen ({beside / kept.name}):\n  {told}"


def _runs(strip: Iterable[tuple[str, Style | None, object]]) -> Iterator[Run]:
    """Yields the parts of a line that look the same, without what changes every time."""
    column, begun, text, how = 0, 0, "", Style()
    for piece, style, control in strip:
        if control:
            continue
        style = style or Style()
        if _look(style) != _look(how) and text:
            yield begun, steady(text), how
            begun, text = column, ""
        text, how, column = text + piece, style, column + cell_len(piece)
    if text:
        yield begun, steady(text), how


def steady(text: str) -> str:
    """Returns a text without ids, digests and times."""
    text = AGO.sub(lambda found: "0000 000".rjust(len(found[0])), text)
    for pattern, sign in CHANGING:
        text = pattern.sub(lambda found, sign=sign: re.sub(r"\w", sign, found[0]), text)  # type: ignore[misc]
    return TOOK.sub("", text)


def _drawn(row: int, run: Run, most: str, looks: dict[str, int]) -> Iterator[str]:
    column, text, style = run
    ink, ground, more = _look(style)
    x, y = column * WIDE, row * HIGH
    if ground != most:
        number, width = _number(looks, f"fill:{ground}"), cell_len(text) * WIDE
        yield f'<path class="s{number}" d="M{x} {y}h{width}v{HIGH}h-{width}z"/>'
    words = text.strip()
    if words:
        x += (len(text) - len(text.lstrip())) * WIDE
        number = _number(looks, f"fill:{ink}{more}")
        words = escape(words, quote=False)
        yield f'<text class="s{number}" x="{x}" y="{y + HIGH - 4}">{words}</text>'


def _number(looks: dict[str, int], look: str) -> int:
    return looks.setdefault(look, len(looks))


def _look(style: Style) -> tuple[str, str, str]:
    ink, ground = _hex(style.color, "#c5c8c6"), _hex(style.bgcolor, "")
    if style.reverse:
        ink, ground = ground or "#14161a", ink
    more = ";font-weight:bold" if style.bold else ""
    more += ";font-style:italic" if style.italic else ""
    more += ";text-decoration:underline" if style.underline else ""
    return ink, ground, more + (";opacity:.6" if style.dim else "")


def _hex(color: Color | None, otherwise: str) -> str:
    if color is None or color.is_default:
        return otherwise
    return color.get_truecolor(SVG_EXPORT_THEME).hex
