"""How many examples a property is tried with: in proportion to a run's profile, few in quick."""

from hypothesis import settings

QUICK = "few"  # the profile that `make quick` runs with
USUAL = 100  # examples of a property that asks for no number


def examples(wanted: int) -> int:
    """Returns the number for `max_examples`, which would overrule the profile of a run."""
    tried = settings().max_examples
    if settings.get_current_profile_name() == QUICK:
        return min(wanted, tried)
    return max(1, wanted * tried // USUAL)
