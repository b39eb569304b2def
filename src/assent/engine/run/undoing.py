"""Undoing: makes the inverse plan of a run, shows it, and applies it on the same road."""

from collections.abc import Iterable, Sequence

import msgspec

from assent.core.deeds import Deed, Gap, barred, gaps, guessed, together
from assent.core.digest import operation_ids
from assent.core.errors import AssentError, NotFound
from assent.core.event import PlanApproved, PlanCreated, PlanDiscarded, TextRevised
from assent.core.journal import Result
from assent.core.lifecycle import State
from assent.core.meant import meant
from assent.core.motion import Seen
from assent.core.operation import FileOperation, FileState, Operation, RunCommand, footprint
from assent.core.paths import ancestors, one_line
from assent.core.plan import Plan
from assent.core.record import PlanRecord, RunNote
from assent.core.undo import (
    FILES_ONLY,
    NOT_COVERED,
    ODD,
    STILL_OTHER,
    Extent,
    Ground,
    Inversion,
    behind_others_links,
    invert,
    is_as,
    is_behind_a_link,
    undo_text,
)
from assent.engine.doors import Doors
from assent.engine.plan.consents import Consents
from assent.engine.plan.contents import Contents
from assent.engine.run.recalled import SHORT, recalled
from assent.engine.run.runs import RunReport, Runs, Working
from assent.engine.run.takeback import Takeback, Target


class Undo(msgspec.Struct, frozen=True):
    """The inverse of a run as a plan, before anybody agreed to it."""

    target: Target
    plan: Plan
    originals: tuple[FileOperation, ...]
    ids: tuple[str, ...]  # of the originals
    inversion: Inversion
    extent: Extent = FILES_ONLY
    compensated: tuple[Deed, ...] = ()  # commands that commands of the plan take back

    @property
    def run(self) -> str:
        """What a person calls the run, or the turn, that it takes back."""
        return self.target.name

    @property
    def source(self) -> PlanRecord:
        return self.target.record


NOT_AGAIN = "it is not run again; the files that it had changed are restored"


_CONFLICT: Result = "conflict"


class Undoing:
    """The verbs that take a run back, by a plan like any other, with its own digest (law 7)."""

    def __init__(self, doors: Doors, runs: Runs, consents: Consents) -> None:
        self._doors = doors
        self._runs = runs
        self._consents = consents

    def preview(self, reference: str = "", plan_id: str = "", operation: str = "") -> Undo:
        """Makes the inverse plan of a run, a turn, or one operation; nothing is recorded."""
        back = Takeback(self._doors, self._runs.ledger())
        target = back.find(reference, plan_id)
        return self._inverse(back, chosen(back, target, operation) if operation else target)

    def redo(self, reference: str = "") -> Undo:
        """Makes the plan that takes back an undo; a command is not run again by it."""
        back = Takeback(self._doors, self._runs.ledger())
        target = back.undone_by(reference)
        return self._inverse(back, target, _again(back, target))

    def apply(self, undo: Undo, channel: str, note: str = "") -> Working:
        """Records the yes to an undo plan and builds it; a file that changed since stops it."""
        record = self._record(undo, channel, note)
        try:
            report = yield from self._runs.build(record.plan_id)
        except AssentError:
            self._discard(record)
            raise
        return self._in_terms_of_originals(undo, report)

    def recalled(self, report: RunReport) -> tuple[Undo, RunReport] | None:
        """Returns the undo that a run carried out, from the record, and how it tells its end.

        None if it was no undo: then the report says it all.
        """
        every = [(record, note) for record in self._runs.ledger().all() for note in record.runs]
        found = [one for one in every if one[0].undoes and one[1].run == report.run]
        try:
            undo = self._recalled(*found[0]) if found else None
        except AssentError:  # the files are as they should be; only their story cannot be read
            undo = None
        return (undo, self._in_terms_of_originals(undo, report)) if undo else None

    def earlier(self, undo: Undo, plan_id: str = "") -> str:
        """Returns what to type for the newest run before one that leaves nothing to take back."""
        found = Takeback(self._doors, self._runs.ledger()).earlier(undo.target, plan_id)
        return f"assent undo {found.name}" if found else ""

    def standing(self, run: str) -> tuple[bool, str]:
        """Tells whether a run was undone, and returns what to type to go back from there."""
        back = Takeback(self._doors, self._runs.ledger())
        undone = run in back.undone
        if not undone:
            return undone, "assent undo" if back.deeds.leave(run) else f"assent runs show {run}"
        return undone, back.again(run) or "assent plan new NAME"

    def way_back(self, undo: Undo, run: str) -> str:
        """Returns what to type to go back from an undo or a redo that was applied by a run."""
        target, back = undo.target, Takeback(self._doors, self._runs.ledger())
        token = target.only or target.whole or target.runs[0]
        if again := back.again(token):
            return again
        redone = {token.partition(":")[0] for token in target.record.undoes.split()}
        # Of what was given up nothing is known any more; what redid it can be taken back.
        return "assent undo" if back.given_up.keys().isdisjoint(redone) else f"assent undo {run}"

    def _recalled(self, record: PlanRecord, note: RunNote) -> Undo | None:
        ledger = self._runs.ledger()
        plan, back = ledger.plan(note), Takeback(self._doors, ledger, before=note.run)
        target = back.taken_by(record)
        taken = _taken(back, target)
        plain = [deed for deed in taken if deed.undo is None]
        done = together(plain)
        found = recalled(plan, done, _ids(plain, done))
        compensated = _compensated(taken)
        commands = tuple(op for op in plan.operations if isinstance(op, RunCommand))
        if found is None or commands != tuple(deed.undo for deed in compensated):
            return None
        redo = back.is_redo(Target(note.run, (note.run,), record))
        extent = _extent(target, taken, _again(back, target) if redo else FILES_ONLY)
        ids = _ids(plain, found.originals)
        return Undo(target, plan, found.originals, ids, found.inversion, extent, compensated)

    def _inverse(self, back: Takeback, target: Target, extent: Extent = FILES_ONLY) -> Undo:
        """Inverts what was done: only that, and of each path what all of it came to."""
        deeds, taken = back.done(target), _taken(back, target)
        plain = [deed for deed in taken if deed.undo is None]
        operations = self._other_by_now(plain)
        ids = _ids(plain, operations)
        made = {folder for run in target.runs for folder in back.deeds.made(run)}
        made.update(folder for deed in taken for folder in deed.made)
        inversion = invert(operations, made, self._ground(operations, deeds, taken))
        extent = _extent(target, taken, extent)
        named = " ".join(target.runs)
        names = _names(back, target, ids)
        text = undo_text(named, target.record.name, inversion, names, extent)
        files = [op for _, op in inversion.operations]
        inverses: tuple[Operation, ...] = (*extent.commands, *files)
        plan = Plan(text, inverses, workspace=self._runs.ledger().workspace)
        return Undo(target, plan, operations, ids, inversion, extent, _compensated(taken))

    def _other_by_now(self, deeds: Sequence[Deed]) -> tuple[FileOperation, ...]:
        """Returns what all of it came to; what a command did may be back already, by whomever."""
        operations = together(deeds)
        if not any(deed.ordered for deed in deeds):
            return operations
        seen = self._seen(operations)
        steps = [step for op in operations for step in footprint(op)]
        moved = behind_others_links(seen, steps)
        other = {p for p, before, _ in steps if p in moved or not is_as(seen[p], before)}
        return tuple(op for op in operations if any(p in other for p, *_ in footprint(op)))

    def _ground(
        self, operations: Sequence[FileOperation], deeds: Sequence[Deed], taken: Sequence[Deed]
    ) -> Ground:
        seen = self._seen(operations)
        there = {state.digest for state in seen.values() if isinstance(state, FileState)}
        blobs = self._doors.blobs
        return Ground(
            seen,
            self._doors.files.below,
            lambda digest: digest in there or blobs.has(digest),
            barred(operations, deeds, taken),
        )

    def _discard(self, record: PlanRecord) -> None:
        """Gives up an undo plan that was refused, and with it the yes that nobody used."""
        ledger = self._runs.ledger()
        current = ledger.load(record.plan_id)
        if current.state is State.AWAITING_APPROVAL:
            ledger.append(current, current.plan_id, PlanDiscarded())

    def _seen(self, operations: Iterable[FileOperation]) -> dict[bytes, Seen]:
        """Looks at every path of a run and at the folders above; what is odd now has changed."""
        paths = {path for op in operations for path, *_ in footprint(op)}
        paths |= {above for path in paths for above in ancestors(path)}
        try:
            return self._doors.files.look(sorted(paths))
        except AssentError:
            seen: dict[bytes, Seen] = {}
            for path in sorted(paths):  # folders come before what is in them
                seen[path] = None if is_behind_a_link(path, seen) else self._one(path)
            return seen

    def _one(self, path: bytes) -> Seen:
        try:
            return self._doors.files.look((path,))[path]
        except AssentError:
            return ODD

    def _record(self, undo: Undo, channel: str, note: str) -> PlanRecord:
        ledger = self._runs.ledger()
        blobs, source = self._doors.blobs, undo.source
        # A move keeps no copy; taken back together with more, it may have become a write.
        Contents(self._doors).keep_all(undo.plan.operations, undo.plan.operations)
        plan_id = self._doors.clock.new_id()
        text, size = blobs.keep([undo.plan.text])
        target = undo.target
        runs = target.only or " ".join(filter(None, (target.whole, *target.runs)))
        created = PlanCreated(
            plan_id,
            ledger.workspace,
            source.session,
            source.name,
            b"",
            undoes=runs,
            spared=_spared(Takeback(self._doors, ledger), undo),
        )
        # One transaction: an undo plan without its yes would wait for nobody.
        return ledger.append(
            None,
            plan_id,
            created,
            TextRevised(text, size),
            self._consents.proposal(undo.plan),
            PlanApproved(self._consents.sign(plan_id, undo.plan, note, channel)),
        )

    def _in_terms_of_originals(self, undo: Undo, report: RunReport) -> RunReport:
        """Names the original operations: what was taken back, and what was left as it is.

        A redo names its own: to take back an undo is to do it again.
        """
        notes = (*report.notes, *_told(undo), *self._still_other(undo))
        if undo.extent.again:
            left = [index for index, _ in undo.inversion.conflicts]
            rows = (*report.operations, *[(undo.ids[i], _CONFLICT) for i in left])
            about = (*undo.plan.operations, *[undo.originals[i] for i in left])
            return _report(report, rows, notes, about)
        undone: dict[str, Result] = {"done": "undone", "undone": "done"}
        found: dict[int, Result] = dict.fromkeys(range(len(undo.ids)), "not_started")
        found.update({index: "conflict" for index, _ in undo.inversion.conflicts})
        count = len(undo.compensated)
        pairs = zip(undo.inversion.operations, report.operations[count:], strict=True)
        found.update({index: undone.get(result, result) for (index, _), (_, result) in pairs})
        ran = zip(undo.compensated, report.operations[:count], strict=True)
        commands = [(deed, undone.get(result, result)) for deed, (_, result) in ran]
        rows = (
            *[(deed.id, result) for deed, result in commands],
            *[(undo.ids[index], found[index]) for index in sorted(found)],
        )
        about = (*[_command(deed) for deed, _ in commands], *undo.originals)
        return _report(report, rows, notes, about)

    def _still_other(self, undo: Undo) -> Iterable[str]:
        """Names the files that a command changed, and that its own undo did not put back."""
        operations = [op for deed in undo.compensated for op in deed.operations]
        seen = self._seen(operations)
        first: dict[bytes, FileState | None] = {}
        for path, before, _ in [step for op in reversed(operations) for step in footprint(op)]:
            first[path] = before
        for path, before in sorted(first.items()):
            if seen[path] != before:
                yield f"{STILL_OTHER}: {one_line(path)}."


def _report(
    report: RunReport,
    rows: tuple[tuple[str, Result], ...],
    notes: tuple[str, ...],
    about: tuple[Operation, ...],
) -> RunReport:
    """Returns a report with other operations; the exits of commands stand first in both."""
    return msgspec.structs.replace(report, operations=rows, notes=notes, about=about)


def chosen(back: Takeback, target: Target, operation: str) -> Target:
    """Returns the target that is one operation of another, by its number or the start of its id."""
    deeds = [deed for run in target.runs for deed in back.deeds.of(run)]
    every = _every(back, target)
    found = [every[index] for index in meant([name for *_, name in every], operation)]
    if len(found) != 1:
        raise NotFound(
            f"{operation!a} names {len(found)} operations of run {target.name}.",
            f"assent runs show {target.name}",
        )
    run, index, name = found[0]
    token = f"{run}:{index}"
    if token not in [deed.token for deed in deeds]:
        raise NotFound(
            f"Operation {name[:12]} of run {target.name} was not done, or is put back already.",
            f"assent runs show {target.name}",
        )
    return msgspec.structs.replace(target, only=token)


def _every(back: Takeback, target: Target) -> list[tuple[str, int, str]]:
    """Returns all operations of a target in the order in which people count them."""
    return [
        (run, index, name) for run in target.runs for index, name in enumerate(back.deeds.ids(run))
    ]


def _names(back: Takeback, target: Target, ids: Sequence[str]) -> list[str]:
    """Returns what people call operations: number and short id; a composed one has no number."""
    numbers = {name: f"{n} " for n, (*_, name) in enumerate(_every(back, target), 1)}
    return [f"{numbers.get(name, '')}({name[:SHORT]})" for name in ids]


def _taken(back: Takeback, target: Target) -> list[Deed]:
    """Returns what of a target is to be taken back, in order."""
    return [deed for deed in back.done(target) if target.only in ("", deed.token)]


def _compensated(taken: Sequence[Deed]) -> tuple[Deed, ...]:
    """Returns the commands that have an undo of their own, in the order in which it is run."""
    return tuple(deed for deed in reversed(taken) if deed.undo)


def _extent(target: Target, taken: Sequence[Deed], more: Extent) -> Extent:
    commands = tuple(deed.undo for deed in _compensated(taken) if deed.undo)
    only = taken[0].id[:SHORT] if target.only and taken else ""
    return Extent(commands, (*gaps(taken), *more.gaps), more.again, only, guessed(taken))


def _again(back: Takeback, target: Target) -> Extent:
    """Returns what it means to take back an undo: the commands that it undid are not run again."""
    tokens = dict.fromkeys(target.record.undoes.split())
    every = [deed for token in tokens for deed in back.deeds.of(token.partition(":")[0])]
    undone = [deed for deed in every if deed.token in tokens or deed.run in tokens]
    ran = [deed.ordered for deed in undone if deed.ordered]
    not_again = tuple(Gap(ordered.words, NOT_AGAIN) for ordered in ran)
    return Extent(gaps=tuple(dict.fromkeys(not_again)), again=True)


def _spared(back: Takeback, undo: Undo) -> tuple[str, ...]:
    """Returns the tokens of what was done and an undo leaves alone, wholly or in part."""
    left = [undo.originals[index] for index, _ in undo.inversion.conflicts]
    if not left:
        return ()
    paths = {path for op in left for path, *_ in footprint(op)}
    taken = _taken(back, undo.target)
    return tuple(deed.token for deed in taken if not paths.isdisjoint(deed.paths))


def _ids(deeds: Sequence[Deed], operations: Sequence[FileOperation]) -> tuple[str, ...]:
    """Returns the ids of the originals; what was composed of several has one of its own."""
    if tuple(op for deed in deeds for op in deed.operations) != tuple(operations) or any(
        deed.ordered for deed in deeds
    ):
        return operation_ids(operations)
    return tuple(deed.id for deed in deeds)


def _command(deed: Deed) -> Operation:
    assert deed.ordered is not None
    assert deed.ordered.command is not None, "only a plan's command has an undo of its own"
    return deed.ordered.command


def _told(undo: Undo) -> Iterable[str]:
    for _, reason in undo.inversion.conflicts:
        yield f"Left alone: {reason}."
    for gap in undo.extent.gaps:
        yield f"{NOT_COVERED}: {gap.line}."
