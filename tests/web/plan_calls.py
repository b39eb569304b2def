"""Plans over HTTP for tests: a plan that was staged, and work that is waited for."""

import time
from typing import Any

from tests.cli.harness import World
from tests.web.harness import Client

WAIT_S = 60.0
TICK_S = 0.02
OVER = ("ended", "failed", "interrupted")


def proposed(world: World, **files: bytes) -> tuple[str, str]:
    """Proposes a plan that writes files, and returns its path in the API and its digest."""
    plan = world.plan()["plan_id"]
    for name, content in (files or {"a": b"a\n"}).items():
        world.write(f"{name}.txt", content)
    return f"/plans/{plan}", world.propose()


def approved(client: Client, plan: str, digest: str) -> dict[str, Any]:
    """Reads a plan to its end and approves it."""
    client.get(f"{plan}/review")
    return client.post(f"{plan}/approve", {"digest": digest})


def ended(client: Client, plan: str, work: str) -> dict[str, Any]:
    """Waits until work is over, and returns it."""
    until = time.monotonic() + WAIT_S
    while True:
        row = client.get(f"{plan}/work/{work}")
        if row["state"] in OVER:
            return row
        assert time.monotonic() < until, row
        time.sleep(TICK_S)


def built(client: Client, plan: str, digest: str) -> dict[str, Any]:
    """Approves and builds a plan, and returns the work that is over."""
    approved(client, plan, digest)
    return ended(client, plan, client.post(f"{plan}/build", {"digest": digest}, 202)["id"])


def wait_until(client: Client, path: str, field: str, value: object) -> dict[str, Any]:
    """Waits until something of the API has a value."""
    until = time.monotonic() + WAIT_S
    while (row := client.get(path))[field] != value:
        assert time.monotonic() < until, row
        time.sleep(TICK_S)
    return row
