"""The documents of this version, by topic: from the package, or from the checkout it runs in."""

import re
from collections.abc import Iterator
from pathlib import Path

PACKAGED = Path(__file__).resolve().parent.parent / "docs"
CHECKOUT = Path(__file__).resolve().parents[3]
WHOLE = ("SECURITY.md", "CHANGELOG.md")  # documents at the top of the checkout
ABOUT_CHARS = 100
# Words that people look for, and the document about them.
ALIASES = {"permissions": "rules"}


def topics() -> dict[str, str]:
    """Lists the topics by name, with what each is about."""
    found = {name: _about(path.read_text("utf-8")) for name, path in _documents()}
    found |= {name: f"The same as {of}." for name, of in ALIASES.items()}
    return dict(sorted(found.items()))


def read_topic(name: str) -> str | None:
    """Returns the text of a topic; None if there is none of this name."""
    wanted = name.lower().removesuffix(".md")
    wanted = ALIASES.get(wanted, wanted)
    return next((path.read_text("utf-8") for topic, path in _documents() if topic == wanted), None)


def _documents() -> Iterator[tuple[str, Path]]:
    if PACKAGED.is_dir():
        files = list(PACKAGED.glob("*.md"))
    else:
        files = [*(CHECKOUT / "docs").glob("*.md"), *[CHECKOUT / name for name in WHOLE]]
    for path in files:
        if path.is_file() and path.name != "README.md":
            yield path.stem.lower(), path


def _about(text: str) -> str:
    """Returns the first sentence below the title."""
    body = re.sub(r"^# .*\n", "", text.lstrip(), count=1).strip()
    first = " ".join(body.partition("\n\n")[0].split())
    plain = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", first)  # a link as its text
    sentence = re.split(r"(?<=[.:])\s", plain, maxsplit=1)[0]
    if sentence.endswith(":"):
        sentence = f"{sentence[:-1]}."
    return sentence if len(sentence) <= ABOUT_CHARS else f"{sentence[: ABOUT_CHARS - 1]}…"
