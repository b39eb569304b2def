"""Keys: compared in full, labelled for people, and void once revoked."""

import pytest

from assent.core.errors import UsageError
from assent.core.plan.keyring import (
    Keyring,
    TrustedKey,
    grouped_key,
    key_name,
    listed_keys,
    public_key,
)

ADA, BOB = "ab" * 32, "cd" * 32
RING = Keyring((TrustedKey(ADA, "ada", "keys"), TrustedKey(BOB, "bob", "system")), (BOB,))


def test_g14_a_key_counts_if_it_is_listed_and_not_revoked() -> None:
    assert (RING.counts(ADA), RING.counts(BOB)) == (True, False)
    assert RING.trusted == RING.listed[:1]


@pytest.mark.parametrize("key", ["", "ada", ADA[:63], ADA.upper(), ADA + " "])
def test_g14_nothing_but_the_whole_key_counts(key: str) -> None:
    assert not RING.counts(key)


def test_names_are_for_people() -> None:
    assert (RING.name(ADA), RING.name("ef" * 32)) == ("ada", "")
    assert grouped_key(ADA).split() == ["abab"] * 16


@pytest.mark.parametrize("text", ["", ADA[1:], ADA + "a", ADA.upper(), "x" * 64, ADA[:-1] + "\n"])
def test_only_64_digits_are_a_key(text: str) -> None:
    assert public_key(ADA) == ADA
    with pytest.raises(UsageError):
        public_key(text)
    with pytest.raises(UsageError):
        listed_keys([("ada", text)], "user")


@pytest.mark.parametrize("text", ["", "-a", "a b", 'a"', "a\n", "a" * 81, "é"])
def test_a_name_needs_no_quotes(text: str) -> None:
    assert key_name("ada.lovelace+ci@example.org") == "ada.lovelace+ci@example.org"
    with pytest.raises(UsageError):
        key_name(text)
