"""What an undo can target, and which changes that covers.

A target is a run, one operation of it, a build, or a session's turn.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property

import msgspec

from assent.core.digest import operation_ids
from assent.core.errors import NotFound, RunUnfinished, StaleError
from assent.core.event import CommandStarted, PermitGiven, RunsDeleted, RunStarted, StoredEvent
from assent.core.plan.operation import FileOperation, RunCommand, footprint, matching_operations
from assent.core.plan.plan import Plan
from assent.core.plan.record import PlanRecord, PlanRun
from assent.core.run.journal import DONE
from assent.core.run.permit_log import PermitRun
from assent.core.undo import AppliedChange, UndoExtent, UndoGap, attribution_warnings, undo_gaps
from assent.planning.ports import Ports
from assent.planning.repositories import PlanRepository
from assent.runs.journal import AppliedChanges, SessionCommand, can_be_undone
from assent.runs.undo.history import SHORT_ID, UndoHistory
from assent.runs.undo.history import UndoneAmount as UndoneAmount


class UndoTarget(msgspec.Struct, frozen=True):
    """Runs and commands that are undone together, oldest first, and their name."""

    name: str
    runs: tuple[str, ...]
    record: PlanRecord  # their plan; of a turn without one, only a name for it
    whole: str = ""  # a run of prose that they are all of
    only: str = ""  # the one deed that is meant, by its token
    rewound_to: str = ""  # the message of the user that everything here came after

    @property
    def rewind(self) -> str:
        """The command that undoes it, if a session is rewound with it."""
        if not self.rewound_to:
            return ""
        return f"assent sessions rewind {self.record.session} --to {self.rewound_to} --files"


class UndoTargets:
    """Finds undo targets. The order of runs is that of the log, not that of clocks.

    `before` names a run: only what was undone before that run counts.
    """

    def __init__(self, ports: Ports, repository: PlanRepository, before: str = "") -> None:
        self._ports = ports
        self._repository = repository
        self._before = before
        self.applied = AppliedChanges(ports, repository)

    def find(self, reference: str, plan_id: str) -> UndoTarget:
        """Finds a target by a run's id or its start; or the newest that still counts.

        Targets that left nothing to undo, and nothing that a user should know, are skipped.
        """
        if reference:
            return self._named(reference)
        for target in self._newest_first(plan_id):
            if self._matters(target):
                return target
        raise NotFound("No run to undo.", "assent status")

    def earlier(self, target: UndoTarget, plan_id: str = "") -> Iterator[UndoTarget]:
        """Yields earlier targets that left something to undo, newest first."""
        wanted = self._newest_first(plan_id)
        older = [t for t in wanted if self.began[t.runs[-1]] < self.began[target.runs[-1]]]
        return (t for t in older if can_be_undone(self.done(t)))

    def target_of_undo(self, record: PlanRecord) -> UndoTarget:
        """Returns the target of an undo, as its own record names it."""
        tokens = record.undoes.split()
        if record.rewound_to:
            return self.since_message(record.session, record.name, record.rewound_to, tokens)
        only = tokens[0] if ":" in tokens[0] else ""
        named = [token.partition(":")[0] for token in tokens]
        unit = next((one for one in self.units() if named[-1] in one.runs), None)
        if unit is None:
            raise NotFound(
                f"No record of what run {named[-1]} changed was found.", "assent runs list"
            )
        if only or unit.whole in named or set(named) == set(unit.runs):
            runs = unit.runs if only else tuple(run for run in unit.runs if run in named)
            return msgspec.structs.replace(unit, runs=runs, only=only)
        name = named[0] if len(named) == 1 else unit.name
        return msgspec.structs.replace(unit, name=name, runs=tuple(named), whole="")

    def since_message(self, slug: str, name: str, message: str, runs: Iterable[str]) -> UndoTarget:
        """Returns runs that are undone together because a session goes back to a message.

        They may be of several turns, plans and child sessions; a plan's record is none of theirs.
        """
        record = PlanRecord("", self._repository.workspace, slug, name, b"", "", "", "", 0)
        return UndoTarget(name, tuple(runs), record, rewound_to=message)

    def _newest_first(self, plan_id: str) -> list[UndoTarget]:
        """Returns what has finished and was not undone yet."""
        left = [self._without(target) for target in self.targets()]
        fitting = [t for t in left if t.runs and plan_id in ("", t.record.plan_id)]
        wanted = [target for target in fitting if target.whole not in self._going_on]
        if fitting and not wanted:
            raise RunUnfinished(
                f"A model is still building plan {fitting[-1].record.name}. Roll back the build "
                "to undo its changes so far.",
                "assent recover --roll-back",
            )
        return sorted(wanted, key=lambda one: self.began[one.runs[-1]], reverse=True)

    def find_undo(self, reference: str) -> UndoTarget:
        """Finds an undo that still counts: the newest if nothing followed it, or a named one.

        A run that was undone names the undo that did it.
        """
        counting = self._standing_undos()
        if reference:
            return self._undo_named(reference, counting)
        if last := self._last_undo(counting):
            record, note = last
            return UndoTarget(note.run, (note.run,), record)
        more = " Name the undone run: `assent redo RUN`." if counting else ""
        raise NotFound(
            f"Nothing to redo: the latest change is not an undo.{more}", "assent runs list"
        )

    def redo_command(self, token: str) -> str:
        """Returns the command that redoes a run or a change; empty if no undo of it counts."""
        counting = self._standing_undos()
        if not (fitting := [one for one in counting if _is_of(token, one[0].undoes.split())]):
            return ""
        newest = fitting[-1] == self._last_undo(counting)
        return "assent redo" if newest else f"assent redo {fitting[-1][1].run}"

    def _standing_undos(self) -> list[tuple[PlanRecord, PlanRun]]:
        """Returns the undos that a redo could undo, oldest first."""
        gone = {*self.pruned, *self.undone.idle}
        counting = [one for one in self._undos(odd=True) if not self.undone.is_over(one[1].run)]
        return [one for one in counting if one[1].run not in gone]

    def _last_undo(
        self, counting: list[tuple[PlanRecord, PlanRun]]
    ) -> tuple[PlanRecord, PlanRun] | None:
        """Returns the newest undo, if no other run followed it."""
        if not counting:
            return None
        others = [note.run for record, note in self._notes if not record.undoes]
        others += [permit.run for permit in self.applied.permits]
        others += [_id(one) for one in self._by_calls()]
        newest = max((self.began[run] for run in others), default=0)
        return counting[-1] if self.began[counting[-1][1].run] > newest else None

    def done(self, target: UndoTarget) -> tuple[AppliedChange, ...]:
        """Returns what the runs of a target did and what was not undone, in order.

        If all of it was undone together, it is all of that: someone may have restored the files.
        But no command's own undo runs a second time.
        """
        changes = [change for run in target.runs for change in self.applied.of(run)]
        left = [change for change in changes if not self.is_undone(change.token, target.whole)]
        again = [d for d in changes if d.token not in self.undone.names and d.undo is None]
        return tuple(self.undone.rest(change) for change in left or again)

    def built(self, build: str) -> tuple[AppliedChange, ...]:
        """Returns what a model's build did, in order."""
        runs = [_id(one) for one in self._by_calls() if _origin(one)[1] == build]
        return tuple(change for run in runs for change in self.applied.of(run))

    def targets(self) -> list[UndoTarget]:
        """Returns everything that can be undone as a unit, except undo plans and pruned runs."""
        plain = [
            UndoTarget(note.run, (note.run,), record)
            for record, note in self._notes
            if not note.session and not record.undoes and self._counts(note)
        ]
        found = [*plain, *self._groups()]
        return [target for target in found if self.pruned.keys().isdisjoint(target.runs)]

    def units(self) -> list[UndoTarget]:
        """Returns everything that ran, in the units that a user undoes, oldest first."""
        plain = [UndoTarget(n.run, (n.run,), record) for record, n in self._notes if not n.session]
        left = [self._single(one) for one in self.applied.permits if one.outcome != "done"]
        return sorted([*plain, *self._groups(), *left], key=lambda one: self.began[one.runs[-1]])

    def is_redo(self, target: UndoTarget) -> bool:
        """Tells whether a unit reverted an undo."""
        return bool(target.record.undoes) and not self._is_undo(target.record)

    def _groups(self) -> list[UndoTarget]:
        groups: dict[str, list[PermitRun | SessionCommand]] = {}
        for one in self._by_calls():
            groups.setdefault(_group(one), []).append(one)
        return [self._grouped(name, group) for name, group in groups.items()]

    @cached_property
    def undone(self) -> UndoHistory:
        """What was undone, and what was skipped then and not undone later."""
        return UndoHistory(self.applied, self._undos())

    def is_undone(self, token: str, whole: str = "") -> bool:
        """Tells whether one change was undone, by itself or with its run or build."""
        return self.undone.has(token, whole)

    def undone_of(self, unit: UndoTarget) -> UndoneAmount:
        """Says how much of a unit was undone."""
        return self.undone.of(unit.runs, unit.whole)

    def undone_of_run(self, run: str) -> UndoneAmount:
        """Says how much of a run was undone; the run of a build has other runs for its work."""
        if not self.undone.names:
            return ""
        units = [one for one in self.units() if run == one.whole or run in one.runs]
        return self.undone_of(units[0]) if units else self.undone.of((run,))

    def undos_of(self, names: Collection[str]) -> list[tuple[PlanRecord, PlanRun]]:
        """Returns the finished undos of any of these runs, oldest first, whatever their outcome."""
        found = [(r, note) for r, note in self._notes if r.undoes and note.outcome in DONE]
        found = [one for one in found if any(_is_of(name, one[0].undoes.split()) for name in names)]
        return sorted(found, key=lambda one: self.began[one[1].run])

    @cached_property
    def pruned(self) -> dict[str, str]:
        """The runs whose contents were pruned, with a text that says when."""
        home = self._ports.store.read(f"workspace/{self._repository.workspace}")
        return {
            run: f"on {one.at[:10]}{f' by {one.event.user}' if one.event.user else ''}"
            for one in home
            if isinstance(one.event, RunsDeleted)
            for run in one.event.runs
        }

    @cached_property
    def began(self) -> dict[str, int]:
        """Where in the log each run began: a clock may be set back, the log only grows."""
        return {run: one.position for run, one in self._starts.items()}

    @cached_property
    def at(self) -> dict[str, str]:
        """When each run began, for people."""
        return {run: one.at for run, one in self._starts.items()}

    @cached_property
    def _starts(self) -> dict[str, StoredEvent]:
        return {**self._built, **started_runs(self.applied.permit_events)}

    @cached_property
    def _built(self) -> dict[str, StoredEvent]:
        """The runs of plans; of their events no others are read."""
        return started_runs(read_started_runs(self._ports, self._repository))

    def _named(self, reference: str) -> UndoTarget:
        targets = self.targets()
        exact = [target for target in targets if target.name == reference]
        single = [self._single(one) for one in self._by_calls() if _id(one) not in self.pruned]
        undos = [
            UndoTarget(note.run, (note.run,), record)
            for record, note in self._undos()
            if note.run not in self.pruned
        ]
        known = {target.name: target for target in (*targets, *single, *undos)}
        found = exact or [t for name, t in known.items() if name.startswith(reference)]
        if len(found) != 1:
            self._refuse_given_up(reference)
            many = f"{reference!a} matches {len(found)} runs. Use a longer ID."
            none = f"No finished run here matches {reference!a}."
            raise NotFound(many if found else none, "assent runs list")
        return self._fresh(found[0])

    def _refuse_given_up(self, reference: str) -> None:
        for run, when in self.pruned.items():
            if run.startswith(reference):
                raise NotFound(
                    f"Run {run} was pruned {when} and can no longer be undone. Nothing was "
                    "changed.",
                    "assent runs list",
                )

    def _undo_named(self, reference: str, undos: list[tuple[PlanRecord, PlanRun]]) -> UndoTarget:
        """Finds an undo by its own id, or the newest one of a run that was undone."""
        means: dict[str, tuple[PlanRecord, PlanRun]] = {}
        for record, note in undos:
            taken = [token.partition(":")[0] for token in record.undoes.split()]
            means |= dict.fromkeys((*taken, note.run), (record, note))
        found = {note.run: (record, note) for run, (record, note) in means.items()
                 if run.startswith(reference)}  # fmt: skip
        if len(found) != 1:
            raise NotFound(
                f"{reference!a} matches {len(found)} undone runs; it must match exactly one.",
                "assent runs list",
            )
        record, note = next(iter(found.values()))
        return UndoTarget(note.run, (note.run,), record)

    def _fresh(self, target: UndoTarget) -> UndoTarget:
        """Leaves out what was undone already, unless that is all there is."""
        left = self._without(target)
        return left if left.runs else target

    def _by_calls(self) -> list[PermitRun | SessionCommand]:
        """Returns what calls of sessions did, in the order of the log."""
        done = [permit for permit in self.applied.permits if permit.outcome == "done"]
        ran = [one for one in self.applied.commands if one.ended and one.ended.changed != ()]
        return sorted([*done, *ran], key=lambda one: self.began[_id(one)])

    def _grouped(self, name: str, group: list[PermitRun | SessionCommand]) -> UndoTarget:
        build = _origin(group[0])[1]
        if len(group) == 1 and not build:
            return self._single(group[0])
        return UndoTarget(name, tuple(_id(one) for one in group), self._source(group[0]), build)

    def _single(self, one: PermitRun | SessionCommand) -> UndoTarget:
        return UndoTarget(_id(one), (_id(one),), self._source(one))

    def _source(self, one: PermitRun | SessionCommand) -> PlanRecord:
        session, build, turn = _origin(one)
        for record, note in self._notes:
            if build and note.run == build:
                return record
        words = "your command" if _is_own(one) else f"turn {turn}"
        return PlanRecord("", self._repository.workspace, session, words, b"", "", "", "", 0)

    @cached_property
    def _going_on(self) -> frozenset[str]:
        """The builds of models that are not over."""
        return frozenset(r.building.run for r in self.applied.records if r.building)

    def _counts(self, note: PlanRun) -> bool:
        """Tells whether a run is over and did something; one that was put back may have, too."""
        if note.outcome == "rolled_back":
            return bool(self.applied.of(note.run))
        return note.outcome == "done"

    def _matters(self, target: UndoTarget) -> bool:
        """Tells whether there is anything to undo, or to report as not covered by an undo.

        The latter is not reported for a session's commands: those run all the time, between edits.
        """
        for change in self.done(target):
            asked = self.applied.command(change.run) is None
            if change.operations or (asked and (change.undo or undo_gaps([change]))):
                return True
        return False

    def _without(self, target: UndoTarget) -> UndoTarget:
        """Leaves out the runs that were undone as a whole."""
        left = [run for run in target.runs if not self.undone.is_over(run, target.whole)]
        return msgspec.structs.replace(target, runs=tuple(left))

    def _undos(self, *, odd: bool = False) -> list[tuple[PlanRecord, PlanRun]]:
        """Returns the runs that took others back, oldest first; `odd`: none that did so again."""
        found = [
            (record, note)
            for record, note in self._notes
            if record.undoes and note.outcome == "done"
        ]
        found.sort(key=lambda one: self.began[one[1].run])
        if self._before:
            found = [one for one in found if self.began[one[1].run] < self.began[self._before]]
        return [one for one in found if not odd or self._is_undo(one[0])]

    def _is_undo(self, record: PlanRecord) -> bool:
        """Distinguishes an undo from a redo, which undoes an undo."""
        taken = self._plans.get(record.undoes.split()[0].partition(":")[0])
        return taken is None or not taken.undoes or not self._is_undo(taken)

    @cached_property
    def _notes(self) -> list[tuple[PlanRecord, PlanRun]]:
        return [(record, note) for record in self.applied.records for note in record.runs]

    @cached_property
    def _plans(self) -> dict[str, PlanRecord]:
        return {note.run: record for record, note in self._notes}


def read_started_runs(
    ports: Ports, repository: PlanRepository, after: int = 0
) -> list[StoredEvent]:
    """Reads from the log where runs of plans started."""
    return ports.store.read_all([f"plan/{repository.workspace}/"], after, [RunStarted])


def started_runs(events: Iterable[StoredEvent]) -> dict[str, StoredEvent]:
    """Returns the runs and commands that started, each with its event."""
    found: dict[str, StoredEvent] = {}
    for one in events:
        match one.event:
            case RunStarted(run=run) | PermitGiven(run=run) | CommandStarted(id=run):
                found[run] = one
            case _:
                pass
    return found


def _is_of(token: str, undone: Sequence[str]) -> bool:
    """Tells whether a run or a deed, or a deed of that run, is among what was undone."""
    return any(one == token or one.startswith(f"{token}:") for one in undone)


def _id(one: PermitRun | SessionCommand) -> str:
    return one.run if isinstance(one, PermitRun) else one.started.id


def _origin(one: PermitRun | SessionCommand) -> tuple[str, str, int]:
    """Returns the session, the build and the turn that something was done in."""
    given = one.permit if isinstance(one, PermitRun) else one.started
    return given.session, given.build, given.turn


def _is_own(one: PermitRun | SessionCommand) -> bool:
    """Tells whether the user typed a command themselves, which belongs to no turn."""
    return isinstance(one, SessionCommand) and one.started.source == "person"


def _group(one: PermitRun | SessionCommand) -> str:
    if _is_own(one):
        return _id(one)
    session, build, turn = _origin(one)
    return build or f"{session}.{turn}"


# Which changes of a target an undo covers, what it calls them, and its limits.


NOT_RUN_AGAIN = "it is not run again; the files it changed are restored"


def select_operation(back: UndoTargets, target: UndoTarget, operation: str) -> UndoTarget:
    """Returns the target that is one operation of another, by its number or the start of its id."""
    changes = {change.token for run in target.runs for change in back.applied.of(run)}
    numbered = numbered_operations(back, target)
    found = [
        numbered[index] for index in matching_operations([name for *_, name in numbered], operation)
    ]
    if len(found) != 1:
        raise NotFound(
            f"{operation!a} matches {len(found)} operations of run {target.name}; it must match "
            "exactly one.",
            f"assent runs show {target.name}",
        )
    run, index, name = found[0]
    token = f"{run}:{index}"
    if token not in changes:
        raise NotFound(
            f"Operation {name[:SHORT_ID]} of run {target.name} was not applied or is already "
            "undone.",
            f"assent runs show {target.name}",
        )
    return msgspec.structs.replace(target, only=token)


def numbered_operations(back: UndoTargets, target: UndoTarget) -> list[tuple[str, int, str]]:
    """Returns all operations of a target in the order of their numbers."""
    return [
        (run, index, name)
        for run in target.runs
        for index, name in enumerate(back.applied.ids(run))
    ]


def operation_names(back: UndoTargets, target: UndoTarget, ids: Sequence[str]) -> list[str]:
    """Returns the numbers of operations; a composed one has none.

    No operation has the id of what several on one path came to, so it could not be looked up.
    """
    numbers = {name: n for n, (*_, name) in enumerate(numbered_operations(back, target), 1)}
    return [str(numbers[name]) if name in numbers else "" for name in ids]


def selected_changes(back: UndoTargets, target: UndoTarget) -> list[AppliedChange]:
    """Returns which changes of a target to undo, in order."""
    return [change for change in back.done(target) if target.only in ("", change.token)]


def undo_without_commands(back: UndoTargets, target: UndoTarget) -> str:
    """Returns the command that undoes the newest change without running a command, if any.

    The undo of a whole run begins with the undo commands that its plan names. A rewind has no
    such part: its runs can be undone one by one.
    """
    if target.rewound_to:
        return ""
    plain = {
        change.token
        for change in selected_changes(back, target)
        if change.undo is None and change.operations
    }
    numbers = [
        n
        for n, (run, at, _) in enumerate(numbered_operations(back, target), 1)
        if f"{run}:{at}" in plain
    ]
    return f"assent undo {target.name} --operation {numbers[-1]}" if numbers else ""


def refuse_repeated_undo(back: UndoTargets, record: PlanRecord, plan: Plan) -> None:
    """Refuses an undo whose commands another undo has run since it was shown (law 6)."""
    commands = [op for op in plan.operations if record.undoes and isinstance(op, RunCommand)]
    runs = dict.fromkeys(token.partition(":")[0] for token in record.undoes.split())
    changes = [change for run in runs for change in back.applied.of(run)] if commands else []
    waiting = [
        change.undo for change in changes if change.undo and not back.is_undone(change.token)
    ]
    for command in commands:
        if command not in waiting:
            run = next(iter(runs))
            raise StaleError(
                f"Run {run} has been undone since. Nothing was changed.",
                f"assent undo {run} --dry-run",
            )
        waiting.remove(command)


def commands_with_undo(changes: Sequence[AppliedChange]) -> tuple[AppliedChange, ...]:
    """Returns the commands that have their own undo, in the order in which it runs."""
    return tuple(change for change in reversed(changes) if change.undo)


def undo_extent(
    target: UndoTarget, changes: Sequence[AppliedChange], more: UndoExtent
) -> UndoExtent:
    """Returns how far an undo of changes goes, and what it cannot cover."""
    return UndoExtent(
        tuple(change.undo for change in commands_with_undo(changes) if change.undo),
        (*undo_gaps(changes), *more.gaps),
        more.again,
        changes[0].id[:SHORT_ID] if target.only and changes else "",
        attribution_warnings(changes),
        recorded=any(change.ordered for change in changes),
        rewind=target.rewind,
    )


def redo_extent(back: UndoTargets, target: UndoTarget) -> UndoExtent:
    """Returns what it means to redo: the commands that the undo reverted do not run again."""
    tokens = dict.fromkeys(target.record.undoes.split())
    changes = [change for token in tokens for change in back.applied.of(token.partition(":")[0])]
    undone = [change for change in changes if change.token in tokens or change.run in tokens]
    ran = [change.ordered for change in undone if change.ordered]
    not_again = tuple(UndoGap(ordered.words, NOT_RUN_AGAIN) for ordered in ran)
    return UndoExtent(gaps=tuple(dict.fromkeys(not_again)), again=True)


def skipped_changes(
    back: UndoTargets, target: UndoTarget, left: Sequence[FileOperation]
) -> tuple[str, ...]:
    """Returns the ids of the changes that an undo skips, wholly or in part."""
    if not left:
        return ()
    paths = {path for op in left for path, *_ in footprint(op)}
    return tuple(
        change.token
        for change in selected_changes(back, target)
        if not paths.isdisjoint(change.paths)
    )


def original_ids(
    changes: Sequence[AppliedChange], operations: Sequence[FileOperation]
) -> tuple[str, ...]:
    """Returns the ids of the originals; one that was composed of several has its own."""
    if tuple(op for change in changes for op in change.operations) != tuple(operations) or any(
        change.ordered for change in changes
    ):
        return operation_ids(operations)
    return tuple(change.id for change in changes)


# Whether a finished run was undone, and the command to type next.


def undo_status(back: UndoTargets, run: str) -> tuple[bool, str]:
    """Tells whether all of a run was undone, and returns the command that reverts that.

    If it left nothing to undo, that is the command that shows what it did.
    """
    if back.undone_of_run(run) == "all":
        return True, back.redo_command(run) or "assent plan new NAME"
    left = run not in back.pruned and back.applied.left_changes(run)
    return False, "assent undo" if left else f"assent runs show {run}"
