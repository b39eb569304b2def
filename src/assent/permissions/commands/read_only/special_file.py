"""The refusal of a line that only looks, but at what is no file; it is not staged either."""

from assent.core.errors import Refused


class SpecialFileRefused(Refused):
    """A word names a device, a process or the whole machine."""
