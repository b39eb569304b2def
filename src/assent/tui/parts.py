"""The parts that the first paint does not wait for: panels by name, commands, and the sidebar.

The app imports this module late, and nothing else. To add a panel: a name in
`context.PanelName`, and a row here.
"""

from typing import Any, Final

from assent.tui.commands.registry import learn, run
from assent.tui.context import PanelName, PanelScreen
from assent.tui.panels.approval.panel import ApprovalPanel
from assent.tui.panels.help import CommandPalette, HelpPanel
from assent.tui.panels.plan_list import HistoryPanel, PlanList
from assent.tui.panels.question.block import InlineQuestion
from assent.tui.panels.run import RunPanel, report_lines
from assent.tui.panels.session_list import RewindPanel, SessionList
from assent.tui.panels.setting_list import (
    AgentList,
    ConfigList,
    MemoryList,
    ModeList,
    ModelList,
    ProviderList,
    ThemeList,
)
from assent.tui.panels.transcript import TranscriptPanel
from assent.tui.panels.undo import RunsPanel, UndoPanel
from assent.tui.panels.waiting_list import WaitingList
from assent.tui.sidebar.sidebar import draw_sidebar, focus_sidebar

__all__ = [
    "PANELS",
    "InlineQuestion",
    "draw_sidebar",
    "focus_sidebar",
    "learn",
    "report_lines",
    "run",
]

PANELS: Final[dict[PanelName, type[PanelScreen[Any]]]] = {
    "agents": AgentList,
    "approval": ApprovalPanel,
    "config": ConfigList,
    "help": HelpPanel,
    "history": HistoryPanel,
    "login": ProviderList,
    "memory": MemoryList,
    "models": ModelList,
    "modes": ModeList,
    "palette": CommandPalette,
    "plans": PlanList,
    "rewind": RewindPanel,
    "run": RunPanel,
    "runs": RunsPanel,
    "sessions": SessionList,
    "themes": ThemeList,
    "transcript": TranscriptPanel,
    "undo": UndoPanel,
    "waiting": WaitingList,
}
