"""A key in the kernel's session keyring, for as long as a self-test needs it there."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

_KEY_CALLS = {"x86_64": (248, 250)}  # add_key, keyctl; the others share one table
_ADD_KEY, _KEYCTL = _KEY_CALLS.get(os.uname().machine, (217, 219))
_SESSION = -3
_KEYCTL_UNLINK, _TIMEOUT = 9, 15
_SECONDS = 60


@contextmanager
def planted_key(name: str, token: str) -> Iterator[None]:
    """Keeps a key in the session keyring; where there is none to be had, does nothing."""
    system = ctypes.CDLL(None, use_errno=True).syscall
    kind, named = ctypes.c_char_p(b"user"), ctypes.c_char_p(os.fsencode(name))
    content = token.encode()
    key = system(_ADD_KEY, kind, named, ctypes.c_char_p(content), len(content), _SESSION)
    if key != -1:
        system(_KEYCTL, _TIMEOUT, key, _SECONDS)  # should this process be killed meanwhile
    try:
        yield
    finally:
        if key != -1:
            system(_KEYCTL, _KEYCTL_UNLINK, key, _SESSION)
