"""The screen: whatever others write while a person is asked comes after the answer."""

from threading import Event, Thread

from assent.cli.terminal import ScreenLock


def test_what_comes_while_somebody_is_asked_waits_for_the_answer() -> None:
    screen, seen, asked, answered = ScreenLock(), list[str](), Event(), Event()

    def ask() -> None:
        with screen.asking():
            seen.append("question")
            asked.set()
            assert answered.wait(30)
            seen.append("answer")

    person = Thread(target=ask)
    screen.show(lambda: seen.append("before"))
    person.start()
    assert asked.wait(30)
    screen.show(lambda: seen.append("meanwhile"))
    screen.show(lambda: seen.append("then"))
    assert seen == ["before", "question"]
    answered.set()
    person.join()
    screen.show(lambda: seen.append("after"))
    assert seen == ["before", "question", "answer", "meanwhile", "then", "after"]


def test_nothing_is_lost_where_the_question_is_broken_off() -> None:
    screen, seen = ScreenLock(), list[str]()
    try:
        with screen.asking():
            screen.show(lambda: seen.append("meanwhile"))
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass
    assert seen == ["meanwhile"]
