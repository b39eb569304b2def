"""Names that people see: session slugs, plan names, ids that sort by time."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assent.core.errors import UsageError
from assent.core.ids import format_id, plan_name, session_name, slug


@pytest.mark.parametrize(
    ("goal", "wanted"),
    [
        ("Add a login page", "add-a-login-page"),
        ("  Fix: bug #12 (again)! ", "fix-bug-12-again"),
        ("Große Straße", "grosse-strasse"),
        ("naïve café", "na-ve-caf"),
        ("日本", "untitled"),
        ("", "untitled"),
        ("../../etc", "etc"),
        ("a" * 48, "a" * 48),
        ("a" * 49, "a" * 48),
        ("one " + "b" * 45, "one"),
        ("one " + "b" * 44, "one-" + "b" * 44),
    ],
)
def test_a_session_is_named_by_the_first_words_of_its_goal(goal: str, wanted: str) -> None:
    assert slug(goal) == wanted


@settings(max_examples=20, deadline=None)
@given(st.text(max_size=80))
def test_a_slug_is_always_a_session_name(text: str) -> None:
    assert session_name(slug(text)) == slug(text)
    assert len(slug(text)) <= 48


@pytest.mark.parametrize("name", ["a", "add_login", "v2-0", "_", "-", "0" * 80])
def test_a_plan_name_is_kept_as_it_is(name: str) -> None:
    assert plan_name(name) == name


@pytest.mark.parametrize(
    "name", ["", "A", "a b", "a/b", "..", "a.md", "ä", "a\n", "0" * 81, "a\u200cb", "\udcff"]
)
def test_a_bad_plan_name_is_refused_with_an_example(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        plan_name(name)
    assert caught.value.message == f"A plan name may contain only a-z, 0-9, _ and -, not {name!a}."
    assert caught.value.next.startswith("assent plan new ")


@pytest.mark.parametrize("name", ["a", "add-login", "2-fast", "0" * 80])
def test_a_session_name_is_kept_as_it_is(name: str) -> None:
    assert session_name(name) == name


@pytest.mark.parametrize("name", ["", "-a", "a-", "a--b", "a_b", "A", "a/b", "a\n", "0" * 81])
def test_a_bad_session_name_is_refused_with_a_good_one(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        session_name(name)
    assert caught.value.next == f"assent plan new NAME --session {slug(name)}"


TIMES = st.integers(0, 2**48 - 1)
NOISE = st.integers(0, 2**80 - 1)


@settings(max_examples=20, deadline=None)
@given(TIMES, NOISE, TIMES, NOISE)
def test_ids_sort_by_time_and_then_by_noise(t1: int, n1: int, t2: int, n2: int) -> None:
    one, two = format_id(t1, n1), format_id(t2, n2)
    assert (one < two) == ((t1, n1) < (t2, n2))
    assert len(one) == 26


def test_an_id_is_spelled_without_letters_that_look_alike() -> None:
    assert format_id(0, 0) == "0" * 26
    assert format_id(2**48 - 1, 2**80 - 1) == "7" + "z" * 25
    assert format_id(1, 31) == "0" * 9 + "1" + "0" * 15 + "z"


def test_noise_never_spills_into_the_time() -> None:
    assert format_id(0, 2**80) == format_id(0, 0)
    assert format_id(0, 2**90 + 5) == format_id(0, 5)
