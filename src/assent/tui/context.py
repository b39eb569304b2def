"""What commands, key actions and panels may ask of the app, and what the app asks of a panel.

They import this module instead of the app, which imports them.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeAlias, TypeVar

from textual.message import Message
from textual.screen import ModalScreen

from assent.tui.keys import KeyDebounce

if TYPE_CHECKING:
    from textual.screen import Screen

    from assent.app.engine import Engine
    from assent.config.screen_choices import ScreenChoices
    from assent.core.errors import AssentError
    from assent.core.plan.record import PlanRecord
    from assent.core.session.record import SessionRecord
    from assent.render.lines import Line
    from assent.tui.commands.command import CommandInfo
    from assent.tui.conversation.blocks import Block
    from assent.tui.conversation.timeline import Timeline
    from assent.tui.conversation.view import ConversationView
    from assent.tui.deferred import DeferredActions
    from assent.tui.host import ScreenHost
    from assent.tui.prompt.completion import Completion
    from assent.tui.prompt.input import PromptInput
    from assent.tui.run_controller import RunController
    from assent.tui.session_controller import SessionController
    from assent.tui.shell_controller import ShellController
    from assent.tui.status import StatusSnapshot
    from assent.tui.verification import Verification
    from assent.tui.workers import BackgroundTasks, Coalescer

R = TypeVar("R")

# What `AppContext.open` opens; `parts.PANELS` says which class each name stands for.
PanelName: TypeAlias = Literal[
    "agents", "approval", "config", "help", "history", "login", "memory", "models", "modes",
    "palette", "plans", "rewind", "run", "runs", "sessions", "themes", "transcript", "undo",
    "waiting",
]  # fmt: skip


class PanelScreen(ModalScreen[R], Generic[R]):
    """A screen over the main one, as far as the app deals with it; see `Panel`."""

    ready_at = 0.0  # what was typed before is dropped
    decides = False  # keys count only after a silence, and not at the prompt when it closed
    left = False  # the user closed it themselves
    for_one_session = False  # an answer counts for the session alone that is shown when it opens

    def __init__(self) -> None:
        super().__init__()
        self.silence = KeyDebounce()

    def hear(self, message: Message) -> None:
        """Takes a message from a worker thread that is for whichever panel it concerns."""

    def is_about(self, subject: str) -> bool:
        """Tells whether it shows that already, so that it need not be opened once more."""
        return False

    def interrupted(self) -> bool:
        """Cancels the open question or delayed answer; tells whether there was one (Ctrl+C)."""
        return False

    def conversation_changed(self, feed: "Timeline", blocks: "Sequence[Block]") -> None:
        """Takes the blocks of the session on the screen that were added or changed."""

    def follow(self) -> None:
        """Shows what was recorded meanwhile, by any process."""


class QuestionKeys(Protocol):
    """The question below the conversation, as far as the keys of the screen deal with it."""

    @property
    def is_keyed(self) -> bool: ...
    def interrupted(self) -> bool: ...


class AppContext(Protocol):
    """The app as the modules see it that it is made of. `TerminalApp` implements it."""

    host: "ScreenHost"
    messages: "Coalescer"
    tasks: "BackgroundTasks"
    deferred: "DeferredActions"
    session_controller: "SessionController"
    run_controller: "RunController"
    shell_controller: "ShellController"
    verification: "Verification"
    status_snapshot: "StatusSnapshot"
    commands: "tuple[CommandInfo, ...]"  # ours
    own_commands: "tuple[Completion, ...]"  # the user's, in addition to ours
    wants_demo: bool  # whether the demo comes after this screen
    pressed: dict[str, float]  # when a key was pressed that means more if repeated
    theme_name: str
    choices: "ScreenChoices"  # how the user last had the screen
    answer_s: float
    quiet_s: float
    burst_s: float
    again_s: float
    typed_at: float  # when something was typed last

    @property
    def question(self) -> "QuestionKeys | None": ...
    @property
    def engine(self) -> "Engine": ...
    @property
    def conversation(self) -> "ConversationView": ...
    @property
    def prompt(self) -> "PromptInput": ...
    @property
    def at_work(self) -> bool: ...

    # What is on the screen.

    @property
    def screen(self) -> "Screen[object]": ...
    @property
    def screen_stack(self) -> "list[Screen[Any]]": ...
    def call_after_refresh(self, callback: Callable[..., Any], *args: Any) -> bool: ...
    def exit(self, result: int | None = None) -> None: ...

    def open(
        self,
        name: PanelName,
        *arguments: Any,
        then: Callable[[Any], None] | None = None,
        **options: Any,
    ) -> None:
        """Opens the panel of a name at once, made of these arguments.

        It is a call and not a message: a message would wait after keys that were typed already, and
        those would be taken for an answer to what is shown now.
        """

    def open_panel(
        self, panel: PanelScreen[Any], then: Callable[[Any], None] | None = None
    ) -> None: ...
    def debounce_keys(self, panel: PanelScreen[Any]) -> None: ...
    def action_toggle_side(self) -> None: ...

    # What is reported.

    def add_note(self, *told: "Line | str") -> None: ...
    def fail(self, error: "AssentError") -> None: ...
    def failing(self) -> AbstractContextManager[None]: ...
    def hint(self, words: str) -> None: ...
    def unhint(self) -> None: ...
    def activity(self, words: str) -> None: ...
    def draw_status(self) -> None: ...
    def refresh_status(self) -> None: ...

    # What is done.

    def run_slash(self, text: str, typed: str | None = None) -> None: ...
    def restore_input(self, words: str) -> None: ...
    def edit_file(self, path: bytes) -> None: ...
    def set_mode(self, name: str) -> None: ...
    def set_theme(self, name: str) -> None: ...
    def remember(self, **chosen: str | bool) -> None: ...
    def reload_settings(self) -> None: ...
    def open_session(self, record: "SessionRecord | None") -> None: ...
    def plan_chosen(self, plan: "PlanRecord", session: "SessionRecord | None") -> None: ...
    def review_plan(self, plan_id: str = "") -> None: ...
    def build_plan(self, plan_id: str, digest: str = "", *, prose: bool = False) -> None: ...
    def show_run(self) -> None: ...
    def ask_next(self, question: str = "") -> None: ...
    def question_closed(self) -> None: ...
