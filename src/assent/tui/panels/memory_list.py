"""The list of remembered facts, from which the person picks one to forget."""

from collections.abc import Sequence

from assent.core.text.hidden_chars import visible_line
from assent.render.redaction import redacted_row
from assent.tui.panels.picker import Picker, PickerRow


class MemoryList(Picker):
    """Ends with the id of a fact."""

    heading = "What every session here is told"
    keys = "Enter forget this one · PgUp PgDn page · Esc close"
    nothing = "Nothing is remembered. /remember WORDS keeps something."

    def rows(self) -> Sequence[PickerRow]:
        facts = redacted_row(self.terminal.engine.memory.all())
        return [PickerRow(each.fact, (visible_line(each.text),)) for each in reversed(facts)]
