"""Portable plans: packs a plan to be applied elsewhere, or imports and checks one.

It also records trusted keys.
"""

import io
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import BinaryIO

import msgspec

from assent.core.digest import sha256
from assent.core.errors import (
    ApprovalUsed,
    AssentError,
    Busy,
    ConcurrentChange,
    CorruptFile,
    DigestMismatch,
    Drift,
    Expired,
    IllegalState,
    ImpossibleOperations,
    NotApproved,
    NotFound,
    NotIndependent,
    Refused,
    StoreError,
    UntrustedKey,
    UsageError,
    WorkspaceMismatch,
)
from assent.core.event import (
    DraftChanged,
    KeyRevoked,
    KeyTrusted,
    PlanApproved,
    PlanCreated,
    PlanDeclined,
    TextRevised,
)
from assent.core.ids import plan_name, session_name
from assent.core.paths import ancestors, base_name, display_path, parent, refuse_own_paths
from assent.core.plan.approval import Approval, is_expired, signed_bytes
from assent.core.plan.bundle import (
    MAX_CONTENT_BYTES,
    Bundle,
    BundleOrigin,
    named_paths,
    origin_bytes,
    read_bundle,
    required_contents,
    review_contents,
)
from assent.core.plan.draft import check_tree, refuse_similar_names, segments
from assent.core.plan.git_commit import is_commit
from assent.core.plan.operation import (
    RISK_CODES,
    FileState,
    MoveFile,
    Operation,
    RunCommand,
    operation_level,
)
from assent.core.plan.plan import Plan
from assent.core.plan.record import ApprovalRecord, PlanRecord, PlanState
from assent.core.run.slot_move import PathState
from assent.executor.drift import check_disk, first_segment_files
from assent.planning.approvals import Approvals, check_independent
from assent.planning.command_operation import checked_command
from assent.planning.drafts import MAX_TRIES, PlanContents
from assent.planning.path_checks import refuse_case_collisions, refuse_denied, refuse_git_folders
from assent.planning.plan_status import (
    expiry_reason,
    imported_plan_drift,
    latest_known_time,
    record_expired,
)
from assent.planning.plans import Plans
from assent.planning.ports import Ports, WorkspaceConfig
from assent.planning.repositories import (
    USED_HERE,
    PlanRepository,
    WorkspaceRepository,
    used_approval_stream,
)
from assent.planning.reviews import Reviews
from assent.ports import EventBatch, LinkTarget, ReplacementLoss, WorkspaceFiles
from assent.render.review import OperationReview, Review
from assent.tools.overlay import Overlay

# Checks whether a plan from a bundle may be applied here, as if it had been staged here.


class BundleCheck:
    """Refuses what staging would have refused, and files that are not as the plan expects."""

    def __init__(self, ports: Ports, config: WorkspaceConfig) -> None:
        self._ports = ports
        self._config = config

    def check(self, plan: Plan) -> None:
        """Checks the plan and the disk; changes nothing."""
        files, paths = self._ports.files, frozenset(named_paths(plan.operations))
        links = Overlay(files, self._ports.blobs, plan.operations).has_links
        target = partial(_read, paths, files) if links else None
        for path in sorted(paths):
            self._check_path(path, target)
        refuse_denied(self._ports, plan.operations, "Nothing was changed.")
        refuse_git_folders(files, plan.operations, plan.operations)
        refuse_similar_names(plan.operations)
        try:
            refuse_case_collisions(files, plan.operations)
        except ImpossibleOperations as error:
            raise Refused(error.message) from None
        so_far: tuple[Operation, ...] = ()
        for segment in segments(plan.operations):
            if isinstance(segment[0], RunCommand):
                self._check_command(segment[0], so_far)
            so_far += segment
            check_tree(so_far, files.is_file, files.below)
        try:
            check_disk(plan, first_segment_files(plan), files)
        except Drift as drift:
            raise imported_plan_drift(drift) from None

    def _check_path(self, path: bytes, target: LinkTarget | None = None) -> None:
        refuse_own_paths(path, self._config.plan_dir, self._config.private)
        here = self._ports.files.locate(self._config.root + b"/" + path, target)
        if here != path:
            raise Refused(
                f"{display_path(path)} resolves to {display_path(here)} here, through a symlink."
            )

    def _check_command(self, command: RunCommand, before: tuple[Operation, ...]) -> None:
        if command.profile == "commit":
            if not is_commit(command):
                raise Refused("The bundle contains a commit in a form that plans cannot use.")
            return
        if command.cwd:
            self._check_path(command.cwd)
        try:
            checked_command(command, Overlay(self._ports.files, self._ports.blobs, before))
        except NotFound as error:
            raise imported_plan_drift(Drift(error.message)) from None
        except UsageError as error:
            raise Refused(error.message) from None


def _read(touched: Container[bytes], files: WorkspaceFiles, path: bytes) -> bytes | None:
    """Reads a symlink; through a name that the plan itself touches, none of its paths leads."""
    below = any(above in touched for above in ancestors(path))
    return None if below or path in touched else files.link_target(path)


# The contents of a bundle as ports, so that it is reviewed like a plan of this workspace.


class BundleBlobs:
    """Implements ports.BlobStore, read-only, with the contents of a bundle."""

    def __init__(self, contents: Mapping[str, bytes]) -> None:
        self._contents = contents

    def keep(self, chunks: Iterable[bytes]) -> tuple[str, int]:
        raise StoreError("Nothing can be stored while a bundle is read.")

    def flush(self) -> None:
        """Does nothing: there is nothing to write."""

    def close(self) -> None:
        """Does nothing: there is nothing to remove."""

    def has(self, digest: str) -> bool:
        return digest in self._contents

    def is_stored(self, digest: str) -> bool:
        return digest in self._contents

    def missing(self, digests: Iterable[str]) -> list[str]:
        return [digest for digest in digests if digest not in self._contents]

    def holders(self, sizes: Mapping[str, int]) -> dict[str, str]:
        there = self._contents
        return {each: each for each in sizes if each in there and len(there[each]) == sizes[each]}

    def lost(self, holders: Iterable[str]) -> list[str]:
        return self.missing(holders)

    def read(self, digest: str) -> bytes:
        if digest not in self._contents:
            raise StoreError(f"The bundle lacks the content {digest[:12]}….", "assent review FILE")
        return self._contents[digest]

    def chunks(self, digest: str) -> Iterator[bytes]:
        yield self.read(digest)


class BundleFiles:
    """Implements ports.WorkspaceFiles with only the files that the bundle's plan expects."""

    def __init__(self, bundle: Bundle) -> None:
        self._contents = bundle.contents
        self._before: dict[bytes, FileState] = {}
        for op in bundle.plan.operations:
            if isinstance(op, MoveFile):
                self._before.setdefault(op.path, op.before)

    def read_states(self, paths: Iterable[bytes]) -> dict[bytes, PathState]:
        return {path: self._before.get(path) for path in paths}

    def locate(self, argument: bytes, target: LinkTarget | None = None) -> bytes:
        return argument

    def open(self, path: bytes) -> BinaryIO:
        state = self._before.get(path)
        if state is None or state.digest not in self._contents:
            raise FileNotFoundError(path)
        return io.BytesIO(self._contents[state.digest])

    def below(self, folder: bytes) -> list[bytes]:
        return []

    def is_file(self, path: bytes) -> bool:
        return path in self._before

    def link_target(self, path: bytes) -> bytes | None:
        return None

    def names(self, folder: bytes) -> list[bytes]:
        return [base_name(path) for path in self._before if parent(path) == folder]

    def size(self, path: bytes) -> int:
        return 0

    def slots(self, beside: Iterable[bytes] = (), *, everywhere: bool = False) -> list[bytes]:
        return []

    def replacement_losses(self, paths: Iterable[bytes]) -> dict[bytes, ReplacementLoss]:
        return {}

    def stamps(self, folder: bytes) -> dict[bytes, tuple[int, ...]] | None:
        return None


class Bundles:
    """Packs, reviews, approves and imports bundles. An approval counts as its key does (law 9)."""

    def __init__(
        self,
        ports: Ports,
        config: WorkspaceConfig,
        plans: Plans,
        consents: Approvals,
        reviews: Reviews,
    ) -> None:
        self._ports = ports
        self._config = config
        self._plans = plans
        self._consents = consents
        self._reviews = reviews
        self._workspaces = WorkspaceRepository(ports, config)
        self._admission = BundleCheck(ports, config)
        self.file = "FILE"  # how a person types the name of what a bundle came in, once known

    def pack(self, record: PlanRecord) -> Bundle:
        """Returns a proposed portable plan with every content it names, signed by the requester."""
        plan = self._plans.repository().plan(record)
        if plan.workspace or plan.is_text_only:
            again = "assent propose --portable --out FILE"
            raise IllegalState("The plan is not portable.", again)
        contents = self._contents(plan)
        found = self._reviews.review(record).operations
        asked = BundleOrigin(
            self._ports.clock.new_id(),
            record.name,
            record.session,
            plan.digest,
            self._ports.clock.now(),
            self._config.user,
            self._ports.signer.key(),
            tuple(each.risks for each in found),
        )
        signature = self._ports.signer.sign(origin_bytes(asked))
        return Bundle(msgspec.structs.replace(asked, signature=signature), plan, contents)

    def read(self, content: bytes) -> Bundle:
        """Returns the bundle in a file, after every check that needs no workspace."""
        bundle = read_bundle(content)
        origin = bundle.origin
        _check_names(origin)
        asked = origin_bytes(origin)
        if not self._ports.keys.verify(origin.key, asked, origin.signature):
            raise CorruptFile("The signature of the plan's requester is invalid.")
        return bundle

    def review(self, bundle: Bundle, next: str) -> Review:
        """Returns the plan as it will be approved, from the bundle's own contents alone."""
        blobs, files = BundleBlobs(bundle.contents), BundleFiles(bundle)
        ports = msgspec.structs.replace(self._ports, blobs=blobs, files=files)
        counting = [each for each in bundle.approvals if self.refusal(bundle, each) is None]
        reviews = Reviews(ports, self._plans, self._config)
        found = reviews.show(_record(bundle, counting), bundle.plan)
        seen = bundle.origin.risks or ((),) * len(found.operations)
        operations = tuple(map(_with_risks, found.operations, seen))
        return msgspec.structs.replace(found, operations=operations, next=next)

    def approve(
        self, bundle: Bundle, note: str, channel: str, expires_s: int | None = None
    ) -> Approval:
        """Creates a user's signed approval of what was shown of a bundle, and records it here."""
        origin = bundle.origin
        self.check_independent(bundle)
        self.check_allowed(bundle)
        approval = self._consents.sign(origin.plan_id, bundle.plan, note, channel, expires_s)
        self._append(bundle, PlanApproved(approval))
        return approval

    def check_allowed(self, bundle: Bundle) -> None:
        """Refuses a plan that rules deny, or that lacks a rehearsal, before anyone is asked."""
        self._consents.check_rehearsal(_record(bundle, []), bundle.plan)
        refuse_denied(self._ports, bundle.plan.operations, "Nothing was approved.")

    def check_independent(self, bundle: Bundle) -> None:
        """Refuses the plan's requester as approver, if another person is required."""
        if refused := self._dependent(bundle, self._ports.signer.key()):
            raise refused

    def decline(self, bundle: Bundle, channel: str) -> None:
        """Records that a user was asked about a bundle and did not approve it."""
        self._append(bundle, PlanDeclined(bundle.plan.digest, self._config.user, channel))

    def unfinished(self, bundle: Bundle) -> PlanRecord | None:
        """Returns the plan if it was imported here and its run is unfinished."""
        record = _known(self._plans.repository(), bundle.origin.plan_id)
        return record if record and record.imported and record.unfinished else None

    def import_plan(self, bundle: Bundle, file: bytes) -> PlanRecord:
        """Imports a bundle that a trusted key approved as a plan of this workspace."""
        for _ in range(MAX_TRIES):
            with suppress(ConcurrentChange):  # another process imports the same; what it did counts
                return self._taken_in(bundle, file)
        raise Busy(
            "Other processes keep importing this plan. Nothing was changed.", "assent status"
        )

    def _taken_in(self, bundle: Bundle, file: bytes) -> PlanRecord:
        approval = self._fitting(bundle)
        self._admission.check(bundle.plan)
        repository = PlanRepository(self._ports, self._workspaces.open().workspace)
        record = _known(repository, bundle.origin.plan_id)
        if record is None:
            return self._created(repository, bundle, approval, sha256(file))
        if not record.imported or record.digest != bundle.plan.digest:
            raise Refused(
                "A different plan with the same ID already exists here.", "assent plan list"
            )
        if any(consent.approval.id == approval.id for consent in record.consents):
            return record
        return repository.append(record, record.plan_id, PlanApproved(approval))

    def refusal(self, bundle: Bundle, approval: Approval) -> AssentError | None:
        """Says why an approval does not count here and now; None if it does."""
        plan, now = bundle.plan, self._ports.clock.now()
        named = (approval.content_hash, approval.operations_hash, approval.digest)
        fits = named == (plan.content_hash, plan.operations_hash, plan.digest)
        if not fits or approval.plan_id != bundle.origin.plan_id:
            told = f"The approval is for {approval.digest[:12]}…, not for the plan in this bundle."
            return DigestMismatch(told, f"assent review {self.file}")
        again = f"assent approve {self.file}"
        signed = (approval.key, signed_bytes(approval), approval.signature)
        if not self._ports.keys.verify(*signed):
            return Refused("The approval has an invalid signature.", again)
        if not self._ports.signer.verify(*signed) and not self._ports.keys.trusted(approval.key):
            told = f"The approval is signed with {approval.key}, which is not trusted here."
            return UntrustedKey(told, "assent keys list")
        if self._ports.store.streams(used_approval_stream(approval.id)):
            return ApprovalUsed(USED_HERE, again)
        seen = latest_known_time(self._ports, *self._given(bundle, approval))
        record_expired(self._ports, [approval], seen)
        if is_expired(approval, now, seen.get(approval.id, "")):
            return Expired(expiry_reason(approval, now), again)
        return self._dependent(bundle, approval.key)

    def _given(self, bundle: Bundle, approval: Approval) -> tuple[str, list[ApprovalRecord]]:
        """Returns an approval with its place in the log; one of elsewhere has none here."""
        stream = _stream(bundle)
        found = [
            one.seq
            for one in self._ports.store.read(stream)
            if isinstance(one.event, PlanApproved) and one.event.approval.id == approval.id
        ]
        return stream, [ApprovalRecord(approval, seq=found[-1] if found else 0)]

    def _append(self, bundle: Bundle, event: PlanApproved | PlanDeclined) -> None:
        store, stream = self._ports.store, _stream(bundle)
        at = self._ports.clock.now()
        store.append(EventBatch(stream, len(store.read(stream)), at, (event,)))

    def _fitting(self, bundle: Bundle) -> Approval:
        """Returns the first approval that counts, or says why the newest one does not."""
        error: AssentError = NotApproved(
            "This plan is not approved.", f"assent approve {self.file}"
        )
        for approval in bundle.approvals:
            refused = self.refusal(bundle, approval)
            if refused is None:
                return approval
            error = refused
        raise error

    def _dependent(self, bundle: Bundle, key: str) -> AssentError | None:
        """Says that a key may not approve what was asked for with it; None if it may."""
        if not self._config.independent or key != bundle.origin.key:
            return None
        unread = msgspec.structs.replace(bundle, approvals=())
        try:
            check_independent(self._config.independent, self.review(unread, ""), same=True)
        except NotIndependent as refused:
            return refused
        return None

    def _created(
        self, repository: PlanRepository, bundle: Bundle, approval: Approval, file: str
    ) -> PlanRecord:
        """Keeps what the bundle brought, and what it replaces here; then records all of it."""
        plan, origin = bundle.plan, bundle.origin
        blobs = self._ports.blobs
        for content in bundle.contents.values():
            blobs.keep([content])
        PlanContents(self._ports).keep_all(plan.operations, plan.operations)
        text, size = blobs.keep([plan.text])
        created = PlanCreated(
            origin.plan_id, repository.workspace, "", origin.name, b"",  # of no session here
            user=origin.user, imported=file,
        )  # fmt: skip
        return repository.append(
            None,
            origin.plan_id,
            created,
            TextRevised(text, size),
            DraftChanged(repository.keep_draft(plan.operations), (), plan.operations),
            self._consents.proposal(plan),
            PlanApproved(approval),
        )

    def _contents(self, plan: Plan) -> dict[str, bytes]:
        sizes = required_contents(plan)
        if sum((sizes | review_contents(plan)).values()) > MAX_CONTENT_BYTES:
            raise Refused(
                f"A bundle can contain at most {MAX_CONTENT_BYTES} bytes; this plan needs more.",
                "assent propose",
            )
        found = {digest: self._ports.blobs.read(digest) for digest in sizes}
        places = {op.before.digest: op.path for op in plan.operations if isinstance(op, MoveFile)}
        old = {digest: self._shown(digest, places.get(digest)) for digest in review_contents(plan)}
        return {**found, **old}

    def _shown(self, digest: str, path: bytes | None) -> bytes:
        """Returns an old content; a rename keeps no copy of it, so it is still on disk."""
        if path is None or self._ports.blobs.has(digest):
            return self._ports.blobs.read(digest)
        with self._ports.files.open(path) as stream:
            content = stream.read()
        if sha256(content) != digest:
            raise Drift(
                f"{display_path(path)} changed while it was being read.", "assent stage list"
            )
        return content


def _check_names(origin: BundleOrigin) -> None:
    try:
        plan_name(origin.name)
        if origin.session:
            session_name(origin.session)
    except UsageError as error:
        raise CorruptFile(error.message) from None
    if not RISK_CODES.keys() >= {code for codes in origin.risks for code in codes}:
        raise CorruptFile("The bundle names a risk that this version does not know.")


def _known(repository: PlanRepository, plan_id: str) -> PlanRecord | None:
    try:
        return repository.load(plan_id)
    except (NotFound, WorkspaceMismatch):
        return None


def _record(bundle: Bundle, counting: Iterable[Approval]) -> PlanRecord:
    """Returns what a plan's events would have left, had it been made here."""
    origin = bundle.origin
    consents = tuple(map(ApprovalRecord, counting))
    return PlanRecord(
        origin.plan_id, "", origin.session, origin.name, b"", "", "", origin.requested_at, 0,
        PlanState.AWAITING_APPROVAL, digest=bundle.plan.digest, consents=consents, user=origin.user,
        imported=bundle.plan.digest,
    )  # fmt: skip


def _with_risks(review: OperationReview, seen: tuple[str, ...]) -> OperationReview:
    """Adds what was found where the plan was made, among the files around it."""
    risks = tuple(dict.fromkeys((*review.risks, *seen)))
    return msgspec.structs.replace(review, risks=risks, risk=operation_level(risks, review.risk))


def _stream(bundle: Bundle) -> str:
    return f"bundle/{bundle.origin.plan_id}"


# Records in the log which keys a person trusted or revoked, and returns the machine's own key.


STREAM = "keys/here"  # keys belong to a person on a machine, and to no workspace


class KeyLog:
    """Records key decisions. The file that counts is written by the caller."""

    def __init__(self, ports: Ports, config: WorkspaceConfig) -> None:
        self._ports = ports
        self._config = config

    def own(self) -> str:
        """Returns this machine's public key; the first call creates the key pair."""
        return self._ports.signer.key()

    def trusted(self, key: str, name: str) -> None:
        """Records that a user trusts a key to approve plans from elsewhere (law 8)."""
        self._append(KeyTrusted(key, name, self._config.user))

    def revoked(self, key: str, name: str) -> None:
        """Records that a user revoked a key."""
        self._append(KeyRevoked(key, name, self._config.user))

    def _append(self, event: KeyTrusted | KeyRevoked) -> None:
        store, at = self._ports.store, self._ports.clock.now()
        store.append(EventBatch(STREAM, len(store.read(STREAM)), at, (event,)))
