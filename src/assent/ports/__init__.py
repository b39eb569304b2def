"""The doors: what the floors above core ask of the world; a page of protocols for each part."""

from assent.ports.files import Facts, Files, Hands, Journal, Looks, PlanFile, Projection
from assent.ports.judging import Asker, Gate, Guard, Heard, Hooks
from assent.ports.running import Answers, Fetch, Fetched, Model, Opened, Outside, Process, Shell
from assent.ports.storing import WHOLE, Batch, Blobs, Checked, Clock, Locks, Signer, Store
from assent.ports.working import Driver, Turn

__all__ = [
    "WHOLE",
    "Answers",
    "Asker",
    "Batch",
    "Blobs",
    "Checked",
    "Clock",
    "Driver",
    "Facts",
    "Fetch",
    "Fetched",
    "Files",
    "Gate",
    "Guard",
    "Hands",
    "Heard",
    "Hooks",
    "Journal",
    "Locks",
    "Looks",
    "Model",
    "Opened",
    "Outside",
    "PlanFile",
    "Process",
    "Projection",
    "Shell",
    "Signer",
    "Store",
    "Turn",
]
