"""The current time for output; it is never stored."""

import time


def current_time() -> str:
    """Returns the time as events have it, in UTC and to the millisecond."""
    seconds = time.time()
    moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{moment}.{int(seconds % 1 * 1000):03d}Z"
