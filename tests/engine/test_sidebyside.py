"""Side by side: answers in order, few threads, and no error lost."""

import threading

import pytest

from assent.engine.session.sidebyside import MOST, side_by_side


@pytest.mark.parametrize("count", [1, 2, MOST, 3 * MOST])
def test_answers_come_in_the_order_of_the_questions(count: int) -> None:
    assert side_by_side(lambda n: n * n, range(count)) == [n * n for n in range(count)]


def test_a_few_threads_do_it_all() -> None:
    threads = side_by_side(lambda _: threading.get_ident(), range(100))
    assert 1 <= len(set(threads)) <= MOST


def test_an_error_comes_out_after_all_are_done() -> None:
    done: list[int] = []

    def work(n: int) -> None:
        if n == 1:
            raise ValueError("no")
        done.append(n)

    with pytest.raises(ValueError, match="no"):
        side_by_side(work, range(20))
    assert sorted(done) == [0, *range(2, 20)]
