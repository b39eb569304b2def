"""The refusal of a read-only line that names a device or a process; it is not staged either."""

from assent.core.errors import Refused


class SpecialFileRefused(Refused):
    """A word names a device, a process or the root of the file system."""
