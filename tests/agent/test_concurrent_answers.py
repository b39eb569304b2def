"""Racing answers: of two processes that answer one question at the same moment one wins."""

import subprocess
import sys
from pathlib import Path

from tests.support import forked_python

from assent.agent.session_repository import SessionRepository
from assent.core.llm import ToolCall
from assent.core.session.event import (
    PartSaid,
    Question,
    QuestionAnswered,
    QuestionAsked,
    StepStarted,
)
from assent.core.session.question import permission_options, question_digest
from assent.testing.engine_fixture import EngineFixture, open_engine_fixture

ROUNDS = 4
PATIENCE = 60.0

# Opens an engine, says that it is ready, and answers when it is told to.
ANSWERER = """
import sys
from pathlib import Path
from assent.core.errors import ConcurrentChange
from assent.core.session.question import QuestionReply
from assent.testing.engine_fixture import (EngineFixture, open_engine_fixture)

root, state, digest, question, label = sys.argv[1:]
engine = open_engine_fixture(EngineFixture(Path(root), Path(state)))
engine.pending_questions.find(question)
print("ready", flush=True)
sys.stdin.readline()
try:
    engine.pending_questions.answer(question, digest, QuestionReply(((label,),), label))
    print("won", flush=True)
except ConcurrentChange as lost:
    print("lost:", lost.message, flush=True)
"""


def asked(site: EngineFixture, number: int) -> tuple[str, QuestionAsked]:
    """A call asks; returns its session and the question."""
    engine = open_engine_fixture(site)
    record = engine.sessions.start(f"Round {number}", "ask")
    call = ToolCall("c1", "write", {"path": "a"})
    question = Question("Permission", "May it?", permission_options(()), by="gate")
    wanted = QuestionAsked(f"question{number}", "c1", (question,), "write")
    digest = question_digest(record.session, call, wanted)
    found = QuestionAsked(wanted.id, "c1", (question,), "write", digest)
    diary = SessionRepository(engine.sessions.repository()._ports, record.workspace)
    diary.append(record, StepStarted(1, "build", "m", "ask"), PartSaid(call), found)
    engine.close()
    return record.session, found


def test_f96_of_two_processes_that_answer_at_once_one_wins(tmp_path: Path) -> None:
    site = EngineFixture(tmp_path / "root", tmp_path / "state")
    site.root.mkdir()
    for number in range(ROUNDS):
        session, question = asked(site, number)
        racers = []
        for label in ("Yes", "No"):
            line = (str(site.root), str(site.state), question.digest, question.id, label)
            racers.append(
                forked_python.Popen(
                    [sys.executable, "-c", ANSWERER, *line],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                    encoding="utf-8",
                )
            )
        for racer in racers:
            assert racer.stdout is not None
            assert racer.stdout.readline() == "ready\n"
        for racer in racers:
            assert racer.stdin is not None
            racer.stdin.write("go\n")
            racer.stdin.flush()
        said = [racer.communicate(timeout=PATIENCE)[0].strip() for racer in racers]
        assert sorted(words.split(":")[0] for words in said) == ["lost", "won"]
        winner = ("Yes", "No")[said.index("won")]
        [lost] = [words for words in said if words != "won"]
        assert f"was answered by {winner} at " in lost
        events = [
            one.event for one in open_engine_fixture(site).sessions.repository().read(session)
        ]
        [answered] = [event for event in events if isinstance(event, QuestionAnswered)]
        assert answered.answers == ((winner,),)
