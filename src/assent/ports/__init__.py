"""Ports: the protocols by which the floors above core reach the outside world."""

from assent.ports.external import (FetchResponse, Model, ModelStream, OpenedModel, OutsideFiles, PageFetcher, PlanCommandRunner, ProcessRunner, ReadOnlyShell)
from assent.ports.files import (DETACHED_HEAD, DisplacedFiles, FolderEntryKind, GitState, Journal, LinkTarget, PathStateReader, PlanFile, Projection, ReplacementLoss, SourceFolder, WorkspaceFiles)
from assent.ports.permission import (Asker, CallGuard, HookResults, HookRunner, PermissionGate, PlanRules)
from assent.ports.storage import (MAX_WHOLE_READ, BlobStore, Clock, CollectionResult, EventBatch, EventStore, GarbageCollector, Locks, LogCheck, Signer, StreamTrace, TrustedKeys)
from assent.ports.turn import (AgentDriver, Turn)

__all__ = [
    "DETACHED_HEAD",
    "MAX_WHOLE_READ",
    "AgentDriver",
    "Asker",
    "BlobStore",
    "CallGuard",
    "Clock",
    "CollectionResult",
    "DisplacedFiles",
    "EventBatch",
    "EventStore",
    "FetchResponse",
    "FolderEntryKind",
    "GarbageCollector",
    "GitState",
    "HookResults",
    "HookRunner",
    "Journal",
    "LinkTarget",
    "Locks",
    "LogCheck",
    "Model",
    "ModelStream",
    "OpenedModel",
    "OutsideFiles",
    "PageFetcher",
    "PathStateReader",
    "PermissionGate",
    "PlanCommandRunner",
    "PlanFile",
    "PlanRules",
    "ProcessRunner",
    "Projection",
    "ReadOnlyShell",
    "ReplacementLoss",
    "Signer",
    "SourceFolder",
    "StreamTrace",
    "TrustedKeys",
    "Turn",
    "WorkspaceFiles",
]
