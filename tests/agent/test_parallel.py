"""Side by side: answers in order, few threads, and no error lost."""

import threading

import pytest

from assent.agent.tool_call_runner import MAX_THREADS, run_parallel


@pytest.mark.parametrize("count", [1, 2, MAX_THREADS, 3 * MAX_THREADS])
def test_answers_come_in_the_order_of_the_questions(count: int) -> None:
    assert run_parallel(lambda n: n * n, range(count)) == [n * n for n in range(count)]


def test_a_few_threads_do_it_all() -> None:
    threads = run_parallel(lambda _: threading.get_ident(), range(100))
    assert 1 <= len(set(threads)) <= MAX_THREADS


def test_an_error_comes_out_after_all_are_done() -> None:
    done: list[int] = []

    def work(n: int) -> None:
        if n == 1:
            raise ValueError("no")
        done.append(n)

    with pytest.raises(ValueError, match="no"):
        run_parallel(work, range(20))
    assert sorted(done) == [0, *range(2, 20)]
