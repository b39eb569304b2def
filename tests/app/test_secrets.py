"""The mask knows the person's own keys (F92)."""

from assent.app.settings import known_secrets
from assent.core.llm import ProviderSettings
from assent.core.text.secrets import CONFIGURED_KEY, Redactor, redaction_text


def test_f92_keys_of_providers_and_variables_that_hold_secrets_are_hidden() -> None:
    environment = {
        "ANTHROPIC_API_KEY": "only-letters-here",
        "DB_PASSWORD": "k8Xq2vLr9z",
        "SECRET_KEY": "development",
        "HOME": "/home/k8Xq2vLr9y",
    }
    own = ProviderSettings(base_url="http://localhost:1/v1", headers={"x": "k8Xq2vLr9x"})
    hide = Redactor(known_secrets(environment, {"own": own}))
    told = "only-letters-here k8Xq2vLr9z development /home/k8Xq2vLr9y k8Xq2vLr9x"
    assert hide(told) == (
        f"{redaction_text(CONFIGURED_KEY)} {redaction_text(CONFIGURED_KEY)} development "
        f"/home/k8Xq2vLr9y {redaction_text(CONFIGURED_KEY)}"
    )


def test_f92_every_key_counts_used_or_not_and_every_proof_in_a_header() -> None:
    environment = {"ANTHROPIC_API_KEY": "first-in-use", "ANTHROPIC_AUTH_TOKEN": "second-unused"}
    own = ProviderSettings(
        key_env="OWN",
        headers={"Authorization": "Bearer words-of-proof", "x-title": "development"},
    )
    servers = [{"DB_PASSWORD": "k8Xq2vLr9z", "MODE": "production"}]
    found = known_secrets({**environment, "OWN": "my-own-words"}, {"own": own}, servers)
    assert {*found} == {
        "first-in-use", "second-unused", "my-own-words",
        "Bearer words-of-proof", "words-of-proof", "k8Xq2vLr9z",
    }  # fmt: skip
