"""A crash in the middle of a build: the program is killed while it renames files."""

import signal
import sys
import time

from demo.bakery import RECIPES, recipes
from demo.scene import Scene

ENOUGH = RECIPES // 4  # files that have left their place when the kill comes
PATIENCE = 100.0  # seconds; a busy machine takes its time
GLANCE = 0.0005


def kill_in_the_middle(scene: Scene, folder: str) -> bool:
    """Starts the build and kills it once it is well under way; tells whether it was hit."""
    watched = scene.root / folder / f"{ENOUGH:04}.json"
    scene.show("assent build &")
    build = scene.start("assent build")
    deadline = time.monotonic() + PATIENCE
    while watched.exists() and build.poll() is None and time.monotonic() < deadline:
        time.sleep(GLANCE)
    build.send_signal(signal.SIGKILL)
    hit = build.wait() == -signal.SIGKILL and scene.ask("assent status")["run"]["outcome"] is None
    if hit and not (left := len(recipes(scene.root, folder))):
        scene.ask("assent recover")  # that was the very end, with nothing to see of a middle
        return False
    if hit:
        print(end="\n" if sys.stderr.isatty() else "")  # below the progress that stopped
        scene.show("kill -9 $!")
        scene.note(f"Of {RECIPES} recipes, {left} are still in {folder}/. The rest is on its way.")
        scene.require(0 < left < RECIPES, f"{folder} holds {left} recipes, all or none")
    return hit
