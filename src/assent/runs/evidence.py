"""Evidence: exports a signed statement about a run, and verifies one."""

from assent import __version__
from assent.core.errors import NotFound, Refused, RunUnfinished, UntrustedKey
from assent.core.plan.approval import Approval, signed_bytes
from assent.core.plan.plan import Plan
from assent.core.plan.record import PlanRecord, PlanRun
from assent.core.run.evidence import (
    ACCEPTED,
    Statement,
    envelope_bytes,
    evidence_approval,
    evidence_operation,
    journal_hash,
    open_envelope,
    pae,
    read_statement,
    statement_bytes,
    subject_of,
    uncovered_path,
)
from assent.core.run.journal import CommandEndedEntry, FinishedEntry, started_entry
from assent.core.run.results import final_files, was_accepted
from assent.core.run.workspace_changes import WorkspaceChanges
from assent.executor.rollback import read_rollbacks
from assent.planning.plans import Plans
from assent.planning.ports import Ports
from assent.runs.journal import AppliedChanges

RECOVER_COMMAND = "assent recover"


class RunEvidence:
    """Exports and verifies evidence. Changes nothing, but creates this machine's key if missing."""

    def __init__(self, ports: Ports, plans: Plans) -> None:
        self._ports = ports
        self._plans = plans

    def export(self, reference: str) -> bytes:
        """Returns the signed statement about a run of an approved plan."""
        repository = self._plans.repository()
        record, note = self._found(reference)
        plan = repository.plan(note)
        applied_changes = AppliedChanges(self._ports, repository)
        entries = applied_changes.entries(note.run)
        last = entries[-1] if entries else None
        if not isinstance(last, FinishedEntry):
            raise RunUnfinished(
                f"Run {note.run} is not finished, so there is no evidence for it yet.",
                RECOVER_COMMAND,
            )

        def changes(ended: CommandEndedEntry) -> WorkspaceChanges:
            return (
                applied_changes.changes(ended.changes)
                if ended.changes
                else WorkspaceChanges(known=False)
            )

        backs = read_rollbacks(entries, self._ports.blobs)
        known = final_files(plan.operations, entries, backs, changes)
        facts = {
            "tool": {"name": "assent", "version": __version__},
            "run": note.run,
            "outcome": ACCEPTED if was_accepted(last, entries) else last.outcome,
            **self._times(note.run),
            "plan": _plan_fact(record, plan),
            "operations": [
                evidence_operation(id, op, result)
                for id, op, result in zip(plan.ids, plan.operations, last.results, strict=True)
            ],
            "not_covered": [uncovered_path(*each) for each in known.uncovered.items()],
            "approval": evidence_approval(_approval(record, started_entry(entries).approval)),
            "journal": {"entries": len(entries), "sha256": journal_hash(entries)},
        }
        payload = statement_bytes(subject_of(plan, known.files), facts)
        signer = self._ports.signer
        return envelope_bytes(payload, signer.key(), signer.sign(pae(payload)))

    def verify(self, content: bytes, key: str = "") -> Statement:
        """Returns what evidence says, if it was signed with the given key, or else a known one."""
        payload, named, signature = open_envelope(content)
        if key and key != named:
            raise UntrustedKey(
                f"The evidence is signed with {named}, not with {key}.", "assent verify --help"
            )
        if not self._ports.keys.verify(named, pae(payload), signature):
            raise Refused("Invalid signature: the content is not what that key signed.")
        own = self._ports.signer.verify(named, pae(payload), signature)
        if not key and not own and not self._ports.keys.trusted(named):
            told = f"The evidence is signed with {named}, which is not trusted here."
            raise UntrustedKey(told, "assent keys list")
        statement = read_statement(payload, named)
        yes = statement.approval
        if not self._ports.keys.verify(yes.key, signed_bytes(yes), yes.signature):
            raise Refused("The approval in the evidence has an invalid signature.")
        return statement

    def _found(self, reference: str) -> tuple[PlanRecord, PlanRun]:
        """Returns the run that a person means: by id or its start, or the last that ended."""
        notes = [(record, note) for record in self._plans.records() for note in record.runs]
        own = [(record, note) for record, note in notes if not note.session]
        if not reference:
            over = sorted((pair for pair in own if pair[1].outcome), key=lambda pair: pair[1].run)
            if not over:
                raise NotFound("No run of an approved plan has finished here.", "assent log")
            return over[-1]
        found = [pair for pair in own if pair[1].run.startswith(reference)]
        if len(found) != 1:
            told = (
                f"{reference!a} matches {len(found)} runs of approved plans; it must match "
                "exactly one."
            )
            raise NotFound(told, "assent runs list")
        return found[0]

    def _times(self, run: str) -> dict[str, str]:
        stream = f"run/{self._plans.repository().workspace}/{run}"
        recorded = self._ports.store.read(stream)
        return {"started_at": recorded[0].at, "ended_at": recorded[-1].at}


def _approval(record: PlanRecord, id: str) -> Approval:
    return next(each.approval for each in record.consents if each.approval.id == id)


def _plan_fact(record: PlanRecord, plan: Plan) -> dict[str, object]:
    return {
        "plan_id": record.plan_id,
        "name": record.name,
        "digest": plan.digest,
        "content_hash": plan.content_hash,
        "operations_hash": plan.operations_hash,
        "workspace": plan.workspace,
        "undoes": record.undoes or None,
        "imported": record.imported or None,
    }
