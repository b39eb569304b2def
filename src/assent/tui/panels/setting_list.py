"""Lists to pick a mode, a model, an agent, a theme, or a remembered fact to forget."""

from collections.abc import Sequence
from typing import Final

from assent.core.permission.mode import mode_names
from assent.core.text.hidden_chars import visible_line
from assent.render.lines import BLANK, Line, untrusted_lines
from assent.render.rows import redacted_row
from assent.tui.panels.picker import Picker, PickerRow
from assent.tui.sidebar.context import model_name, token_count_text
from assent.tui.theme import DARK, LIGHT, PLAIN, THEMES

# The list of modes, from the strictest on, with what each allows without asking.


MODE_DESCRIPTIONS: Final = {
    "plan": "nothing changes before you approved a plan",
    "ask": "you are asked before every change and command",
    "auto-edit": "files are edited unasked, commands are asked",
    "yolo": "nothing is asked; you confirm this mode first",
}


class ModeList(Picker):
    """Ends with the name of a mode."""

    heading = "Modes"
    keys = "Enter go on in this one · PgUp PgDn page · Esc close"

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


DEFAULT_MODEL: Final = "the mode's own"


class ModelList(Picker):
    """Ends with the name of a model."""

    heading = "Models that can be used here"
    keys = "Enter ask this one from now on · PgUp PgDn page · Esc close"
    nothing = "No model can be used here: no key is set and no server answers. /demo needs none."

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
    """Ends with the name of an agent, or with nothing for the mode's own."""

    heading = "Agents"
    keys = "Enter let this one work from now on · PgUp PgDn page · Esc close"
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
    """Returns the row of a model that is asked, though nothing here lists it."""
    shown = visible_line(model_name(name))
    return PickerRow(name, (f"* {shown}", "", "", ""), "asked now", visible_line(name))


def _model(row: dict[str, object], now: str) -> PickerRow:
    name, context, output = str(row["model"]), row["context"], row["output"]
    sign = "*" if name == now else " "
    reads = f"reads {token_count_text(context)}" if isinstance(context, int) and context else ""
    says = f"says {token_count_text(output)}" if isinstance(output, int) and output else ""
    usual = "default" if row["default"] else ""
    group = f"{visible_line(str(row['provider']))}: {visible_line(str(row['why']))}"
    return PickerRow(name, (f"{sign} {visible_line(name)}", reads, says, usual), group)


# The theme list: previews each theme while moving over it; Esc restores the old one.


THEME_DESCRIPTIONS: Final = {
    DARK: "light letters on a dark ground",
    LIGHT: "dark letters on a light ground",
    PLAIN: "the terminal's own colours, and no others",
}
SAMPLE: Final = (
    Line("heading", "A heading"),
    Line("plain", "Words as they are"),
    Line("said", "> what you said"),
    Line("risk", "! a risk"),
    Line("added", "+ a line that is added"),
    Line("removed", "- a line that is removed"),
    Line("hunk", "@@ where it is @@"),
    Line("code", "code"),
    Line("digest", "9f3c a digest"),
    Line("dim", "what matters less"),
)


class ThemeList(Picker):
    """Ends with the name of a theme."""

    heading = "Themes"
    keys = "↑ ↓ look · Enter keep · Esc as before"
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


# The list of remembered facts, from which the person picks one to forget.


class MemoryList(Picker):
    """Ends with the id of a fact."""

    heading = "What every session here is told"
    keys = "Enter forget this one · PgUp PgDn page · Esc close"
    nothing = "Nothing is remembered. /remember WORDS keeps something."

    def rows(self) -> Sequence[PickerRow]:
        facts = redacted_row(self.terminal.engine.memory.all())
        return [PickerRow(each.fact, (visible_line(each.text),)) for each in reversed(facts)]
