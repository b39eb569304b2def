"""Reads the session that the user wants, and continues it once it is on the screen."""

from datetime import UTC, datetime
from functools import partial
from typing import Final, Protocol

from assent.core.plan.record import PlanState
from assent.core.session.record import SessionRecord
from assent.core.text.hidden_chars import visible_line
from assent.render.lines import Line
from assent.render.onboarding import SetupFindings, onboarding_lines
from assent.tui.context import AppContext
from assent.tui.conversation.block_sections import notice_section
from assent.tui.conversation.past_runs import past_run_notes
from assent.tui.conversation.view import SessionLoaded, load_session, session_events
from assent.tui.home import KEY as HOME
from assent.tui.home import Home, home_lines, read_home
from assent.tui.host import StartOptions
from assent.tui.messages import NoModel, SessionLoadFailed, WorkspaceReady
from assent.tui.prompt.input import load_prompt_history
from assent.tui.result_messages import plan_state_text
from assent.tui.session_controller import CONTINUE_HINT, UNFINISHED
from assent.tui.status import StatusSnapshot

UNFINISHED_STATES: Final = (PlanState.HALTED, PlanState.EXECUTING)
CUT_OFF: Final = f"The last turn did not finish: {CONTINUE_HINT}."


class OpeningApp(AppContext, Protocol):
    """The app as far as a session that is opened changes it."""

    def say(self, words: str) -> None: ...
    def has_pending_question(self) -> None: ...


class SessionOpening:
    """One session at a time: what was wanted before it, and comes later, is dropped."""

    def __init__(self, app: OpeningApp, start: StartOptions) -> None:
        self.ready = False  # whether what the user wanted to continue is on the screen
        self._app = app
        self._start = start
        self._wanted = ""  # the session that is being read, or was last
        self._fresh = False  # whether what waits in the session was not asked yet
        self._unfinished = False  # whether it was said with this session that a run is unfinished
        self._at_home = False  # whether no session has begun
        self._home: Home | None = None  # what is shown until then
        self._missing: SetupFindings | None = None  # what was found instead of a model

    def load(self, record: SessionRecord) -> None:
        """Loads and folds a session in a thread, and shows it when that is done."""
        self.ready, self._wanted, self._at_home = False, record.session, False
        app = self._app

        def act() -> None:
            try:
                events = session_events(app.engine, record)
                notes = past_run_notes(app.engine, record)
                app.messages.post(
                    load_session(record.session, events, notes, app.conversation.read_patch)
                )
            except Exception:
                app.messages.post(SessionLoadFailed(record.session))
                raise

        app.messages.work(act)

    def workspace_ready(self, message: WorkspaceReady) -> None:
        """Goes on once the engine is open: with the session that is wanted, or with none."""
        app = self._app
        if message.elsewhere:
            app.deferred.add_note(Line("dim", f"Workspace: {visible_line(message.elsewhere)}"))
        for words in message.warnings:
            app.deferred.add_note(Line("risk", visible_line(words)))
        app.conversation.read_patch = lambda edits: app.engine.turn_changes.patch(edits)
        opened = app.session_controller.record is not None
        self._unfinished = opened and UNFINISHED in message.warnings
        self.read_defaults()
        if app.session_controller.record is not None:
            self.load(app.session_controller.record)
        else:
            self._open()

    def read_defaults(self) -> None:
        """Reads what the settings say, and uses it."""
        app = self._app

        def known(vim: bool) -> None:
            if app.session_controller.shown_model:
                self._missing = None
            app.prompt.use_vim(vim)
            app.refresh_status()

        app.tasks.run("", self._resolve_defaults, known)

    def _resolve_defaults(self) -> bool:
        """Reads the defaults of a new session, in a thread; returns whether there are vim keys."""
        app = self._app
        app.session_controller.resolve_defaults()
        record = app.session_controller.record
        if not (app.session_controller.shown_model or (record and record.model)):
            app.messages.post(NoModel(app.host.findings()))
        return app.host.vim

    def miss_model(self, found: SetupFindings) -> None:
        """Says that there is no model: with what stands before a session, else below it."""
        self._missing = found
        if self._at_home if self.ready else self._begins_at_home():
            self.draw_home(self._app.status_snapshot)
        else:
            self._app.deferred.add_note(*onboarding_lines(found))

    def open_none(self) -> None:
        """Continues without a session, and ignores one that is still being loaded."""
        self._wanted = ""
        if self.ready:
            self._read_home()
        else:
            self._open()

    def loaded(self, message: SessionLoaded | SessionLoadFailed) -> None:
        """Shows a loaded session, or its error, unless another one was requested meanwhile."""
        if isinstance(message, SessionLoadFailed):
            if message.session == self._wanted:
                self._open()
        elif message.feed.session == self._wanted:
            self._app.conversation.open(message)
            self._open()

    def _open(self) -> None:
        """Opens the session that the user requested."""
        app = self._app
        if self._begins_at_home():
            self._read_home()
        self.ready = self._fresh = True
        app.deferred.release_notes()
        app.refresh_status()
        app.prompt.recollect(
            partial(load_prompt_history, app.engine, app.session_controller.record)
        )
        start, self._start = self._start, StartOptions()
        if start.told:
            app.add_note(*start.told)
        if start.draft:
            app.prompt.load(start.draft)
        if start.words:
            app.say(start.words)
        app.deferred.release_actions()

    def _begins_at_home(self) -> bool:
        return self._app.session_controller.record is None and not self._start.told

    def _read_home(self) -> None:
        """Shows what there is before a session begins."""
        app, now = self._app, datetime.now(UTC).isoformat()
        self._home, self._at_home = None, True

        def read(home: Home) -> None:
            self._home = home
            self.draw_home(app.status_snapshot)

        app.tasks.run("", lambda: read_home(app.host, app.engine, now), read)

    def draw_home(self, standing: StatusSnapshot) -> None:
        """Shows mode, model and what waits as they are now, until something is said."""
        app = self._app
        if self._home is None or app.session_controller.record or app.session_controller.at_work:
            return
        app.conversation.put(notice_section(HOME, home_lines(self._home, standing, self._missing)))

    def leave_home(self) -> None:
        """Shows it no longer: a session begins."""
        sections = self._app.conversation.sections
        if self._home is not None and any(each.key == HOME for each in sections):
            self._app.conversation.show([each for each in sections if each.key != HOME])
        self._home, self._at_home = None, False

    def look_for_questions(self, standing: StatusSnapshot | None) -> None:
        """Opens the questions of the session that was just opened; notes those of others."""
        app = self._app
        if standing is None or not self._fresh or not self.ready:
            return
        record, now = standing.record, app.session_controller.record
        if (record and record.session) != (now and now.session):
            return  # it was read before that session was opened
        self._fresh = False
        own = [one for one in standing.waiting if record and one.root.session == record.session]
        if record is not None and not app.at_work:
            self._say_where(standing, asked=bool(own))
        if own and not app.at_work:
            app.has_pending_question()

    def _say_where(self, standing: StatusSnapshot, *, asked: bool) -> None:
        """Shows the state of the plan, and that a turn was cut off, unless shown already."""
        plan = standing.plan
        words = plan_state_text(plan, standing.undone, approved=standing.approved) if plan else ""
        if words and not (self._unfinished and plan and plan.state in UNFINISHED_STATES):
            self._app.add_note(Line("dim", words))
        self._unfinished = False
        if standing.cut_off and not asked and not (plan and plan.building):
            self._app.add_note(Line("risk", CUT_OFF))
