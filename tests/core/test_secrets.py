"""Secrets are found, and ordinary code is not mistaken for one. No example here is whole."""

import time

import pytest

from assent.core.text.secrets import find_secret

RANDOM = "Zq7Lr2Xv9Kb4Tn8Wp3Md6Hs1Jc5Fg0Ya"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("AKIA" + "Z7Q4X2M9K1B8W3LP", "AWS access key"),
        ("ghp_" + RANDOM + "abcd", "GitHub token"),
        ("github_pat_" + RANDOM + "_" + RANDOM, "GitHub token"),
        ("glpat-" + RANDOM[:20], "GitLab token"),
        ("xoxb-" + "123456789012-" + RANDOM[:12], "Slack token"),
        ("https://hooks.slack.com/" + "services/T0AB/B0CD/" + RANDOM[:24], "Slack token"),
        ("AIza" + RANDOM + "abc", "Google key"),
        ("-----BEGIN " + "OPENSSH PRIVATE KEY-----", "private key"),
        ("-----BEGIN " + "PRIVATE KEY-----", "private key"),
        ("sk_live_" + RANDOM, "payment key"),
        ("gsk_" + RANDOM + "abcd", "API key"),
        ("xai-" + RANDOM * 2, "API key"),
        ("hf_" + RANDOM + "ab", "API key"),
        ("SG." + RANDOM[:22] + "." + RANDOM + "abcdefghijk", "API key"),
        ("dop_v1_" + "0123456789abcdef" * 4, "DigitalOcean token"),
        ("AGE-SECRET-KEY-1" + "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L" * 2, "age key"),
        ("npm_" + RANDOM + "abcd", "package registry token"),
        ("eyJ" + RANDOM + ".eyJ" + RANDOM + "." + RANDOM, "JSON web token"),
        ("sk-ant-" + RANDOM, "API key"),
        ("sk-proj-" + RANDOM, "API key"),
        ("postgres://app:" + "k8Xq2vLr9" + "@db/x", "password in a URL"),
        ("password = '" + "k8Xq2vLr9z" + "'", "password"),
        ('"api_key": "' + RANDOM + '"', "password"),
        ("export DB_PASSWORD=" + "k8Xq2vLr9z44", "password in a settings file"),
    ],
)
def test_secrets(text: str, name: str) -> None:
    assert find_secret(f"before\n{text}\nafter\n") == name


@pytest.mark.parametrize(
    "text",
    [
        "",
        "the AKIA prefix marks keys",
        "gsk_ xai- hf_hub_download SG. dop_v1_ AGE-SECRET-KEY-1",
        "AKIA" + "IOSFODNN7EXAMPLE",
        "password = ''",
        "password = 'changeme123'",
        "password = 'correct horse battery staple'",
        "password = 'hunter'",
        'token = "your-token-here-123"',
        'secret: "${SECRET_FROM_ENV_1}"',
        'token = os.environ["TOKEN_1234"]',
        'password_field = "passwordInput2"',
        "sk-learn-like-css-class-name-here",
        "task-list-item-checkbox-label-x",
        "https://user:password1@example.com/",
        "https://example.com:8080/path@v1",
        "PASSWORD=$(pass show db)",
        "def tokenize(text: str) -> list[str]:",
        "-----BEGIN PUBLIC KEY-----",
        "a1b2c3d4e5f60718293a4b5c6d7e8f9012345678",
    ],
)
def test_no_secrets(text: str) -> None:
    assert find_secret(text) is None


@pytest.mark.parametrize(
    "piece",
    ["-eyJ", "sk-", "xoxb-", "-----BEGIN A ", "://a:", "password = '", "PASSWORD", "AIza", "ghp_a"],
)
def test_hostile_text_takes_no_more_than_a_moment(piece: str) -> None:
    text = piece * (400_000 // len(piece))
    start = time.process_time()
    find_secret(text)
    assert time.process_time() - start < 2
