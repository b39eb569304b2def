"""How many examples a property is tried with: as many as it asks for, or few in the quick gate."""

from hypothesis import settings

QUICK = "few"  # the profile that `make quick` runs with


def examples(wanted: int) -> int:
    """Returns the number for `max_examples`, which would overrule the profile of a run."""
    few = settings.get_current_profile_name() == QUICK
    return min(wanted, settings().max_examples) if few else wanted
