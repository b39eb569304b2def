"""Secrets are taken out of text that is shown or stored, and ordinary text stays as it is (F92)."""

import time
from pathlib import Path
from re import _parser  # type: ignore[attr-defined]

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.core.text import secrets as redaction
from assent.core.text.secrets import Redactor, redact, redaction_text, remember_secrets

RANDOM = "Zq7Lr2Xv9Kb4Tn8Wp3Md6Hs1Jc5Fg0Ya"
BODY = "\n".join([RANDOM + RANDOM] * 3)
PEM = "-----BEGIN " + f"RSA PRIVATE KEY-----\n{BODY}\nabc=\n-----END " + "RSA PRIVATE KEY-----"
NUMBERED = "\n".join(f"{n}: {line}" for n, line in enumerate(PEM.split("\n"), 1))
CUT = "-----BEGIN " + f"PRIVATE KEY-----\n{BODY}"

WHOLE = [
    ("AKIA" + "Z7Q4X2M9K1B8W3LP", "AWS access key"),
    ("ghp_" + RANDOM + "abcd", "GitHub token"),
    ("gsk_" + RANDOM + "abcd", "API key"),
    ("xai-" + RANDOM * 2, "API key"),
    ("hf_" + RANDOM + "ab", "API key"),
    ("SG." + RANDOM[:22] + "." + RANDOM + "abcdefghijk", "API key"),
    ("dop_v1_" + "0123456789abcdef" * 4, "DigitalOcean token"),
    ("AGE-SECRET-KEY-1" + "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L" * 2, "age key"),
    ("github_pat_" + RANDOM + "_" + RANDOM, "GitHub token"),
    ("glpat-" + RANDOM[:20], "GitLab token"),
    ("xoxb-" + "123456789012-" + RANDOM[:12], "Slack token"),
    ("hooks.slack.com/" + "services/T0AB/B0CD/" + RANDOM[:24], "Slack token"),
    ("AIza" + RANDOM + "abc", "Google key"),
    ("sk_live_" + RANDOM, "payment key"),
    ("npm_" + RANDOM + "abcd", "package registry token"),
    ("pypi-AgEIcHlwaS5vcmc" + RANDOM + RANDOM, "package registry token"),
    ("eyJ" + RANDOM + ".eyJ" + RANDOM + "." + RANDOM, "JSON web token"),
    (PEM, "private key"),
    (PEM.replace("\n", "\\n"), "private key"),
    (CUT, "private key"),
]
# What stands before a value, the value, what stands after it, and what it is.
VALUES = [
    ("sk-", "ant-" + RANDOM, "", "API key"),
    ("postgres://app:", "k8Xq2vLr9", "@db/x", "password in a URL"),
    ("password = '", "k8Xq2vLr9z", "'", "password"),
    ('"API_KEY": "', RANDOM, '"', "password"),
    ("export DB_PASSWORD=", "k8Xq2vLr9z44", "", "password in a settings file"),
    ("12: DB_PASSWORD=", "k8Xq2vLr9z44", "", "password in a settings file"),
    ("Authorization: Bearer ", RANDOM, "", "API key"),
    ("x-api-key: ", RANDOM, "", "API key"),
    ("aws_secret_access_key = ", RANDOM + "abcdefgh", "", "AWS secret key"),
]
PIECES = [text for text, _ in WHOLE] + ["".join(each[:3]) for each in VALUES]


@pytest.mark.parametrize(("text", "name"), WHOLE)
def test_f92_a_secret_becomes_the_name_of_its_kind(text: str, name: str) -> None:
    assert redact(f"before {text}\nafter\n") == f"before {redaction_text(name)}\nafter\n"


def test_f92_a_private_key_with_numbered_lines_goes_as_a_whole() -> None:
    assert redact(f"a\n{NUMBERED}\nz") == f"a\n1: {redaction_text('private key')}\nz"


@pytest.mark.parametrize(("before", "value", "after", "name"), VALUES)
def test_f92_of_what_only_looks_like_one_the_value_alone_goes(
    before: str, value: str, after: str, name: str
) -> None:
    assert redact(f"a\n{before}{value}{after}\nz") == f"a\n{before}{redaction_text(name)}{after}\nz"


def test_f92_every_secret_of_a_text_goes_and_the_rest_stays() -> None:
    key = "AKIA" + "Z7Q4X2M9K1B8W3LP"
    text = f"one {key} two {key} three\nPASSWORD = 'k8Xq2vLr9z' # İ\n"
    rest = f"one {redaction_text('AWS access key')} two {redaction_text('AWS access key')} three\n"
    assert redact(text) == f"{rest}PASSWORD = '{redaction_text('password')}' # İ\n"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "the AKIA prefix marks keys",
        "AKIA" + "IOSFODNN7EXAMPLE",
        "password = 'changeme123'",
        "password = 'correct horse battery staple'",
        'token = os.environ["TOKEN_1234"]',
        "https://example.com:8080/path@v1",
        "PASSWORD=$(pass show db)",
        'if "-----BEGIN ' + 'PRIVATE KEY-----" in text and "-----END PRIVATE KEY-----" in text:',
        "Authorization: Bearer YOUR_TOKEN_12345678",
        "a1b2c3d4e5f60718293a4b5c6d7e8f9012345678",
        "sk-learn-like-css-class-name-here",
    ],
)
def test_f92_ordinary_text_stays_as_it_is(text: str) -> None:
    assert redact(text) == text


def test_f92_no_line_of_our_own_code_is_taken_for_a_secret() -> None:
    files = sorted(Path(redaction.__file__).parents[2].rglob("*.py"))
    texts = [path.read_text(encoding="utf-8") for path in files]
    assert len(texts) > 100
    assert [text for text in texts if redact(text) != text] == []


def test_f92_values_that_are_known_go_whatever_they_look_like() -> None:
    hide = Redactor(["plain-words", "plain-words-and-more", "short", ""])
    assert hide("a plain-words-and-more b plain-words c short") == (
        f"a {redaction_text(redaction.CONFIGURED_KEY)} "
        f"b {redaction_text(redaction.CONFIGURED_KEY)} c short"
    )
    assert hide("AKIA" + "Z7Q4X2M9K1B8W3LP") == redaction_text("AWS access key")


def test_f92_a_known_value_that_stands_in_our_own_words_does_not_make_them_grow() -> None:
    hide = Redactor(["password", "[masked:"])
    text = f"password = '{'k8Xq2vLr9z'}'"
    assert hide(hide(text)) == hide(text) == f"password = '{redaction_text('password')}'"


@given(st.lists(st.sampled_from([*PIECES, "-", " ", "\n", "a", "=", "://", "İ"]), max_size=8))
def test_f92_masking_twice_changes_nothing_more(pieces: list[str]) -> None:
    once = redact("".join(pieces))
    assert redact(once) == once


@given(st.lists(st.sampled_from(PIECES), max_size=20))
def test_f92_a_text_grows_by_no_more_than_its_length(pieces: list[str]) -> None:
    text = "\n".join(pieces)
    assert len(redact(text)) <= 3 * len(text) + 1


HOSTILE = [
    "-eyJ", "sk-", "xoxb-", "-----BEGIN A ", "://a:", "password = '", "PASSWORD", "AIza", "ghp_a",
    "-----BEGIN " + "PRIVATE KEY-----", "-----BEGIN " + "PRIVATE KEY-----" + "A" * 40 + "\n",
    "authorization: bearer ", "API_KEY=", "aws_secret_access_key=", "A" * 40 + "\n", "-",
]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_f92_hostile_text_takes_no_more_than_a_moment(piece: str) -> None:
    text = "PRIVATE KEY key " + piece * (400_000 // len(piece))
    start = time.process_time()
    redact(text)
    assert time.process_time() - start < 3


def test_f92_what_is_looked_for_first_leaves_out_no_form_of_secret() -> None:
    forms = redaction.SECRET_PATTERNS + redaction._VALUE_PATTERNS
    shortest = {form.pattern: _parser.parse(form.pattern).getwidth()[0] for form in forms}
    assert min(shortest.values()) == redaction.SHORTEST
    marks = [mark.lower() for form in forms for mark in form.marks]
    assert [m for m in marks if not redaction._may_hold_one(m, redaction._ALL_MARKS)] == []


def test_f92_the_shortest_secret_goes() -> None:
    shortest = "pwd='a1b2c3d4'"
    assert len(shortest) == redaction.SHORTEST
    assert redact(shortest) == f"pwd='{redaction_text('password')}'"


def test_f92_values_that_are_known_are_masked_until_others_are_told() -> None:
    try:
        remember_secrets(["words-that-are-a-key"])
        assert redact("say words-that-are-a-key") == "say [masked: configured API key]"
        remember_secrets([])
        assert redact("say words-that-are-a-key") == "say words-that-are-a-key"
    finally:
        remember_secrets([])
