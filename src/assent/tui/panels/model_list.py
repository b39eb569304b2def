"""The list of models that can be used here and why, and the list of agents."""

from collections.abc import Sequence
from typing import Final

from assent.core.text.hidden_chars import visible_line
from assent.render.lines import BLANK, Line, untrusted_lines
from assent.tui.panels.picker import Picker, PickerRow
from assent.tui.sidebar.context import model_name, token_count_text

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
