"""Finds the values that nobody needs to read anywhere: keys of providers, and what is named so."""

import re
from collections.abc import Mapping

from assent.core.provider import ProviderSettings
from assent.core.secrets import credible
from assent.models.accounts import accounts

_NAMED = re.compile(r"(?i)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$")


def known_secrets(
    environment: Mapping[str, str], providers: Mapping[str, ProviderSettings]
) -> list[str]:
    """Returns every secret value that settings and environment hold, for a Masker.

    Of headers, and of variables that only have a secret's name, those count that look like one:
    without a word such as `development` much could not be read any more.
    """
    found = accounts(environment, dict(providers)).values()
    headers = [value for account in found for value in account.headers.values()]
    named = [value for name, value in environment.items() if _NAMED.search(name)]
    return [*(account.key for account in found), *filter(credible, [*headers, *named])]
