"""The list of everything that waits for a decision, over all sessions (F150)."""

from collections.abc import Sequence

import msgspec

from assent.core.text.hidden_chars import visible_line
from assent.render.lines import GUTTER, Line
from assent.render.pending_decisions import PendingDecision
from assent.render.rows import redacted_row
from assent.tui.panels.picker import Picker, PickerRow, ago_cell, session_titles


class WaitingList(Picker):
    """Lists pending decisions; Enter opens the panel for one."""

    heading = "Waiting for you"
    keys = "Enter review · PgUp PgDn page · Esc close"
    nothing = "Nothing is waiting for you."
    previews = below = follows = True

    def __init__(self) -> None:
        super().__init__()
        self._waits: dict[str, PendingDecision] = {}

    def rows(self) -> Sequence[PickerRow]:
        waits = redacted_row(self.terminal.engine.waiting())
        titles = session_titles(self.terminal.engine)
        named = [
            msgspec.structs.replace(one, session=titles.get(one.session, one.session))
            for one in waits
        ]
        self._waits = {f"{one.kind}:{one.id}": one for one in named}
        return [_row(key, one) for key, one in self._waits.items()]

    def preview(self, row: PickerRow) -> Sequence[Line]:
        one = self._waits.get(row.key)
        if one is None:  # it was decided elsewhere meanwhile
            return ()
        facts = [f"session {one.session}" if one.session else "", _risks(one)]
        told = [Line("dim", visible_line(fact)) for fact in facts if fact]
        text = [Line("plain", f"{GUTTER}{visible_line(line)}") for line in one.preview]
        return [Line("heading", visible_line(one.title)), *told, *text]

    def chosen(self, row: PickerRow) -> None:
        app, one = self.terminal, self._waits.get(row.key)
        if one is None:  # it was decided elsewhere meanwhile
            self.load()
            return
        self.dismiss(row.key)
        match one.kind:
            case "question":
                app.ask_next(one.id)
            case "run":
                app.show_run()
            case "plan" | "build":
                app.review_plan(one.plan_id)


def _row(key: str, one: PendingDecision) -> PickerRow:
    title = visible_line(one.title)
    cells = (one.kind, ago_cell(one.at), visible_line(one.session), title)
    return PickerRow(key, cells, also=" ".join(map(visible_line, one.preview)), name=title)


def _risks(one: PendingDecision) -> str:
    if one.operations is None:
        return ""
    risks = f"{one.risks} with risks" if one.risks else "no risks found"
    return f"{one.operations} operation{'' if one.operations == 1 else 's'}, {risks}"
