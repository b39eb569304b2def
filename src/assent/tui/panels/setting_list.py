"""Lists to pick a mode, model, agent, theme, setting or provider, or a fact to forget."""

from collections.abc import Mapping, Sequence
from typing import Final

from assent.core.permission.mode import mode_names
from assent.core.text.hidden_chars import visible_line
from assent.core.text.secrets import redaction_text
from assent.render.estimate import token_count_text
from assent.render.lines import BLANK, Line, untrusted_lines
from assent.render.rows import redacted_row
from assent.tui.panels.picker import Picker, PickerRow
from assent.tui.sidebar.context import model_name
from assent.tui.theme import DARK, LIGHT, PLAIN, THEMES

MASKED: Final = redaction_text("")[:-1]  # how what stands for a secret begins

# The list of modes, from the strictest on, with what each allows without asking.


MODE_DESCRIPTIONS: Final = {
    "plan": "nothing changes until you approve a plan",
    "ask": "asks before every change and command",
    "auto-edit": "edits without asking, asks for commands",
    "yolo": "never asks; you confirm this mode first",
}


class ModeList(Picker):
    """Lists modes; its result is the name of a mode."""

    heading = "Modes"
    keys = "Enter use this mode · PgUp PgDn page · Esc close"

    def rows(self) -> Sequence[PickerRow]:
        now, own = self.terminal.status_snapshot.mode, self.terminal.engine.sessions.modes
        about = {
            name: f"{mode.base}, narrowed. {visible_line(mode.label)}".rstrip()
            for name, mode in own.items()
        }
        about |= MODE_DESCRIPTIONS
        return [
            PickerRow(name, (f"{'*' if name == now else ' '} {visible_line(name)}", about[name]))
            for name in mode_names(own)
        ]


# The list of models that can be used here and why, and the list of agents.


DEFAULT_MODEL: Final = "mode default"


class ModelList(Picker):
    """Lists models; its result is the name of a model."""

    heading = "Available models"
    keys = "Enter use this model · PgUp PgDn page · Esc close"
    nothing = "No model available: no API key set and no server running. /demo needs none."

    def __init__(self) -> None:
        super().__init__()
        self._troubles = ""  # why there are not more of them

    def _loaded(self, rows: object, told: str) -> None:
        super()._loaded(rows, told or self._troubles)

    def rows(self) -> Sequence[PickerRow]:
        found, troubles = self.terminal.host.models()
        self._troubles = visible_line(" ".join(troubles))
        now = self.terminal.status_snapshot.model
        rows = [_model(row, now) for row in found]
        if now and now not in [row.key for row in rows]:
            rows.insert(0, _asked_now(now))
        return rows


class AgentList(Picker):
    """Lists agents; its result is a name, or empty for the mode's own agent."""

    heading = "Agents"
    keys = "Enter use this agent · PgUp PgDn page · Esc close"
    previews = True

    def rows(self) -> Sequence[PickerRow]:
        now = self.terminal.status_snapshot.agent
        agents = [each for each in self.terminal.host.agents() if each.kind != "subagent"]
        return [
            PickerRow(
                each.name,
                (
                    f"{'*' if each.name == now else ' '} {visible_line(each.name)}",
                    each.source,
                    visible_line(each.model) or "default model",
                    visible_line(each.description),
                ),
            )
            for each in agents
        ]

    def preview(self, row: PickerRow) -> Sequence[Line]:
        agent = next(each for each in self.terminal.host.agents() if each.name == row.key)
        head = [
            Line("heading", visible_line(agent.name)),
            *untrusted_lines(agent.description),
            BLANK,
        ]
        return [*head, *untrusted_lines(agent.prompt)]


def _asked_now(name: str) -> PickerRow:
    """Returns the row of a model that is in use, though nothing here lists it."""
    shown = visible_line(model_name(name))
    return PickerRow(name, (f"* {shown}", "", "", ""), "in use", visible_line(name))


def _model(row: dict[str, object], now: str) -> PickerRow:
    name, context, output = str(row["model"]), row["context"], row["output"]
    sign = "*" if name == now else " "
    reads = f"reads {token_count_text(context)}" if isinstance(context, int) and context else ""
    says = f"says {token_count_text(output)}" if isinstance(output, int) and output else ""
    usual = ", ".join(
        filter(None, ("default" * bool(row["default"]), "no images" * (row["images"] is False)))
    )
    group = f"{visible_line(str(row['provider']))}: {visible_line(str(row['why']))}"
    return PickerRow(name, (f"{sign} {visible_line(name)}", reads, says, usual), group)


# The theme list: previews each theme while moving over it; Esc restores the old one.


THEME_DESCRIPTIONS: Final = {
    DARK: "light text, dark background",
    LIGHT: "dark text, light background",
    PLAIN: "the terminal's own colors only",
}
SAMPLE: Final = (
    Line("heading", "A heading"),
    Line("plain", "Plain text"),
    Line("said", "> your message"),
    Line("risk", "! a risk"),
    Line("added", "+ an added line"),
    Line("removed", "- a removed line"),
    Line("hunk", "@@ position @@"),
    Line("code", "code"),
    Line("digest", "9f3c a digest"),
    Line("dim", "dimmed text"),
)


class ThemeList(Picker):
    """Lists themes; its result is the name of a theme."""

    heading = "Themes"
    keys = "↑↓ preview · Enter apply · Esc cancel"
    previews = True

    def __init__(self, before: str) -> None:
        super().__init__()
        self._before = before

    def rows(self) -> Sequence[PickerRow]:
        ordered = [self._before, *[name for name in THEMES if name != self._before]]
        return [PickerRow(name, (name, THEME_DESCRIPTIONS[name])) for name in ordered]

    def preview(self, row: PickerRow) -> Sequence[Line]:
        return SAMPLE

    def pointed(self, row: PickerRow) -> None:
        if row.key != self.terminal.theme_name:
            self.terminal.set_theme(row.key)

    def action_leave(self) -> None:
        self.terminal.set_theme(self._before)
        self.dismiss(None)


# The list of remembered facts, from which the user picks one to forget.


class MemoryList(Picker):
    """Lists remembered facts; its result is the id of a fact."""

    heading = "Memory for every session here"
    keys = "Enter forget it · PgUp PgDn page · Esc close"
    nothing = "Memory is empty. /remember TEXT saves something."

    def rows(self) -> Sequence[PickerRow]:
        facts = redacted_row(self.terminal.engine.memory.all())
        return [
            PickerRow(each.fact, (text := visible_line(each.text),), name=text)
            for each in reversed(facts)
        ]


# The list of settings, from which the user picks one to change; and of providers, to log in to.


class ConfigList(Picker):
    """Lists settings, those that are set first; its result is the command that changes one."""

    DEFAULT_CSS = """
    ConfigList.narrow.below #list { height: 1fr; max-height: 100%; }
    ConfigList.narrow.below #preview { height: auto; max-height: 45%; }
    """
    heading = "Settings"
    previews = below = True
    keys = "Enter change in your own file · PgUp PgDn page · Esc close"
    abbreviates = True
    _values: Mapping[str, str] = {}  # by key

    def rows(self) -> Sequence[PickerRow]:
        settings = sorted(self.terminal.host.settings(), key=lambda one: one.source == "default")
        self._values = {one.key: one.value for one in settings}
        return [
            PickerRow(
                one.key, (one.key, visible_line(one.value), one.source, visible_line(one.meaning))
            )
            for one in settings
        ]

    def preview(self, row: PickerRow) -> Sequence[Line]:
        """Returns all of what a row may have no room for."""
        key, value, source, meaning = row.cells
        return [
            Line("heading", f"{key} = {value}" if value else key),
            Line("plain", meaning),
            Line("dim", f"from: {source}"),
        ]

    def chosen(self, row: PickerRow) -> None:
        # What stands for a secret must not be set in its place.
        value = "" if MASKED in self._values[row.key] else visible_line(self._values[row.key])
        self.dismiss(f"/config set {row.key} {value}")


class ProviderList(Picker):
    """Lists providers with the place of their keys, never a key; its result is a name."""

    heading = "Log in to a provider"
    keys = "Enter store its API key · PgUp PgDn page · Esc close"
    abbreviates = True

    def rows(self) -> Sequence[PickerRow]:
        return [
            PickerRow(one.name, (visible_line(one.name), one.place or "no key", one.variable))
            for one in self.terminal.host.providers()
        ]
