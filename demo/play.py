"""`make demo`: one story through the real program, in a throw-away repository; it checks itself."""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from demo import bakery
from demo.crash import kill_in_the_middle
from demo.scene import CONFIG, Scene, Unexpected

PAUSE = 1.5
TRIES = 20
SCRIPT = Path(__file__).parent / "oven.json"  # what the model says
NOTE = "No script from the network. Leave the workflow as it is."


def main() -> int:
    """Plays the story; 0 only if every step ended as told."""
    parser = argparse.ArgumentParser(prog="python -m demo.play", description=__doc__)
    pause = PAUSE if sys.stdout.isatty() else 0.0
    parser.add_argument("--pause", type=float, default=pause, help="seconds between steps")
    options = parser.parse_args()
    missing = [program for program in ("bash", "git") if shutil.which(program) is None]
    if missing:
        print(f"The demonstration needs {' and '.join(missing)}: make system", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="assent-demo-") as home:
        try:
            play(Scene(Path(home), options.pause), Path(home))
        except Unexpected as error:
            print(f"\nThe demonstration failed: {error}.", file=sys.stderr)
            return 1
    return 0


def play(scene: Scene, home: Path) -> None:
    """Tells the story from the first plan to the last undo."""
    bakery.build(scene.root)
    shutil.copy(SCRIPT, home)
    scene.say("A repository, thrown away at the end. Its state and configuration are its own.")
    scene.do("git init -q && git add -A && git -c user.name=demo -c user.email= commit -qm Bread")
    scene.note("Usually Assent asks on the terminal, and only there. The demonstration's own user")
    scene.note("configuration lets a full digest approve instead:")
    scene.note(CONFIG.strip().replace("\n", " "))
    digest = _plan(scene)
    _revise(scene, digest)
    _build(scene)
    _crash(scene)
    _undo(scene)
    scene.say("Done. Every step ended as told.")


def _plan(scene: Scene) -> str:
    scene.say("A model gets a goal. It looks around, stages exact operations, and presents a plan.")
    scene.note("What it answers comes from a script here, so that no key is needed. What its calls")
    scene.note("do is real. Exit code 3 says that a plan waits for a person.")
    scene.do(f"assent -p 'Bake at 230 degrees' --model scripted:../{SCRIPT.name}", ends=3)
    scene.do("assent sessions show | grep 'Model calls'")
    scene.require(_untouched(scene), "a file changed before anybody approved")
    scene.say("The review: what is dangerous comes first, then text and every diff in full.")
    scene.do("assent review")
    review = scene.ask("assent review")
    risks = {op["path"]: op["risks"] for op in review["operations"]}
    scene.require("protected" in risks[bakery.WORKFLOW], "the workflow is no risk")
    scene.require("deletes" in risks[bakery.LEGACY], "the deletion is no risk")
    scene.say("Nobody has said yes, so nothing can happen.")
    scene.do("assent build", ends=3)
    return str(review["digest"])


def _revise(scene: Scene, digest: str) -> None:
    scene.say("A script from the network in the workflow? No, and the model is told why.")
    scene.do(f"assent reject --note '{NOTE}' | grep state")
    scene.do("assent -c -p", ends=3)
    scene.note("The note reached it word for word, as the session shows:")
    scene.do("assent sessions show | grep -A 3 '(rejected)'")
    left = [op["path"] for op in scene.ask("assent review")["operations"]]
    scene.require(left == [bakery.OVEN, bakery.LEGACY], f"the plan is now about {left}")
    scene.require(_untouched(scene), "a file changed before anybody approved")
    scene.say("The digest of the first plan names other bytes, and approves nothing any more.")
    scene.do(f"assent approve --digest {digest}", ends=5)


def _build(scene: Scene) -> None:
    scene.say("The digest of what is left gets a yes, and exactly that is built, once.")
    scene.note("No model has a part in it.")
    digest = scene.ask("assent plan show")["digest"]
    scene.do(f"assent approve --digest {digest} | grep state")
    scene.do("assent build")
    oven = bakery.read(scene.root, bakery.OVEN) or ""
    scene.require("DEGREES = 230" in oven, "the oven was not changed")
    scene.require(bakery.read(scene.root, bakery.LEGACY) is None, "legacy.py is still there")
    workflow = bakery.read(scene.root, bakery.WORKFLOW)
    scene.require(workflow == bakery.FILES[bakery.WORKFLOW], "the workflow was touched")
    scene.do("git status --short -uno")
    scene.do("assent build", ends=4)
    scene.say("The model learns what was applied when it goes on.")
    scene.do("assent -c -p")
    scene.do("assent sessions show | grep -A 3 '(run)'")


def _crash(scene: Scene) -> None:
    scene.say(f"A large plan: {bakery.RECIPES} recipes move. It will be killed in the middle.")
    before = bakery.sum_of(bakery.recipes(scene.root, "recipes"))
    source, target = "recipes", "bakery/recipes"
    for attempt in range(1, TRIES + 1):
        _stage_move(scene, f"move_{attempt}", source, target)
        if kill_in_the_middle(scene, source):
            break
        scene.note("The build was faster than the kill. Once more, the other way round.")
        source, target = target, source
    else:
        raise Unexpected("no build could be hit")
    scene.do("assent status")
    scene.say("The journal knows that the run had begun for good, so it is finished, not redone.")
    scene.do("assent recover | tail -n 3")
    moved = bakery.recipes(scene.root, target)
    scene.require(bakery.sum_of(moved) == before, "a recipe is missing or differs")
    scene.require(not (scene.root / source).exists(), f"{source} is still there")
    scene.note(f"All {len(moved)} recipes are in {target}/, byte for byte.")


def _stage_move(scene: Scene, name: str, source: str, target: str) -> None:
    scene.do(f'assent plan new {name} --goal "Recipes lie in {target}" | head -n 1')
    scene.do(f"assent stage move {source} {target} | tail -n 1")
    scene.do("assent propose | grep state")
    scene.do("assent review | head -n 6")
    digest = scene.ask("assent plan show")["digest"]
    scene.do(f"assent approve --digest {digest} | grep state")


def _undo(scene: Scene) -> None:
    scene.say("Undo is a plan too: it has a digest, and asks.")
    while (status := _undoable(scene)) is not None:
        scene.do(f"assent undo {status['run']} --dry-run | tail -n 3")
        scene.do(f"assent undo {status['run']} --digest {status['digest']} | head -n 1")
    scene.require(_untouched(scene), "something is not as it was at the start")
    recipes = len(bakery.recipes(scene.root, "recipes"))
    scene.require(recipes == bakery.RECIPES, f"{recipes} recipes came back")
    scene.do("git status --short -uno && git diff --quiet && echo 'As at the start.'")


def _undoable(scene: Scene) -> dict[str, str] | None:
    """Returns run and digest of the newest undo that is left, or None."""
    try:
        preview = scene.ask("assent undo --dry-run")
    except Unexpected:
        return None
    return {"run": preview["run"], "digest": preview["digest"]}


def _untouched(scene: Scene) -> bool:
    """Tells whether the files that were there at the start are as they were."""
    found = {name: bakery.read(scene.root, name) for name in bakery.FILES}
    return found == bakery.FILES


if __name__ == "__main__":
    sys.exit(main())
