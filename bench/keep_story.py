"""`python -m bench.keep_story RECORDING NAME`: puts a recording in the place of a story.

It is played with this program first, and written with the number of calls that fail now, which a
later version may have made fewer. Where a step goes another way, nothing is replaced.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import msgspec
from bench.record_story import story_file
from bench.startup import ASSENT
from bench.stories import FOLDER, Story, command_line, failed_calls, filled, program
from bench.story_code import OtherVersion, make_machine
from bench.story_server import story_server


def kept(story: Story, base: Path, path: str) -> Story:
    """Returns a story as it goes with a program; raises AssertionError if it goes another way."""
    steps = []
    with story_server() as server:
        env = make_machine(base, story.code, story.files) | {"OPENAI_BASE_URL": server.url}
        run = program(path, base / "project", env)
        for number, step in enumerate(story.steps, start=1):
            words = filled(step.run, run)
            server.answers = list(step.answers)
            code, out = run(command_line(words))
            assert code == step.exit, f"step {number} ended with {code}, not {step.exit}."
            asked = len(step.answers) - len(server.answers) + server.excess
            told = f"step {number} made {asked} requests, not {len(step.answers)}."
            assert asked == len(step.answers), told
            failed = len(failed_calls(out)) if "-p" in words else 0
            steps.append(msgspec.structs.replace(step, failed=failed))
    return msgspec.structs.replace(story, steps=tuple(steps))


def main() -> int:
    """Plays one recording and puts it into the folder of the stories."""
    parser = argparse.ArgumentParser(prog="python -m bench.keep_story", description=__doc__)
    parser.add_argument("recording", type=Path, help="what bench.record_story wrote")
    parser.add_argument("name", help="of the story, such as feature")
    parser.add_argument("--program", default=ASSENT, help="the assent to play with")
    options = parser.parse_args()
    try:
        story = msgspec.json.decode(options.recording.read_bytes(), type=Story)
        with tempfile.TemporaryDirectory() as base:
            found = kept(story, Path(base), options.program)
    except (OSError, msgspec.MsgspecError, OtherVersion, AssertionError) as error:
        print(f"{options.recording} was not kept: {error}", file=sys.stderr)
        return 1
    (FOLDER / f"{options.name}.json").write_bytes(story_file(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
