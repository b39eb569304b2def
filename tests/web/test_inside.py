"""From inside: a program that a plan runs, with network and without, finds no way in."""

import base64
import os

import msgspec
import pytest
from tests.web.harness import Served

from assent.sandbox.status import find_bwrap

PYTHON = "/usr/bin/python3"  # the system's, which commands of a plan see
pytestmark = [
    pytest.mark.skipif(find_bwrap() is None, reason="bubblewrap is not installed"),
    pytest.mark.skipif(not os.path.exists(PYTHON), reason=f"{PYTHON} is not installed"),
]

# Tries what a hostile program would: every door, every file, every variable, every process.
PROGRAM = """
import base64, json, os, socket, sys, urllib.error, urllib.request
url, found = sys.argv[1], {}
def ask(path, data=None, headers={}):
    request = urllib.request.Request(url + path, data, headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as reply:
            return reply.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError as error:
        return type(error).__name__ + str(error)
for path in ("/login", "/", "/api/v1/access", "/api/v1/plans", "/api/v1/events"):
    found[path] = ask(path)
found["code"] = ask("/login", b"code=AAAAA-AAAAA")
found["logout"] = ask("/logout", b"", {"Origin": url})
seen = [repr(dict(os.environ)).encode()]
for top in (os.path.expanduser("~"), os.environ.get("XDG_STATE_HOME", "/nothing"), "/tmp", "/run",
            "/proc", sys.argv[2]):
    for folder, folders, names in os.walk(top):
        if folder.count("/") > 8:
            folders[:] = []
        for name in names:
            path = os.path.join(folder, name)
            if top == "/proc" and name not in ("environ", "cmdline"):
                continue
            try:
                with open(path, "rb") as file:
                    seen.append(file.read(1 << 20))
            except OSError:
                pass
try:
    terminal = os.open("/dev/tty", os.O_RDWR)
    found["terminal"] = True
except OSError:
    found["terminal"] = False
found["state"] = os.path.exists(sys.argv[2])
with open("found.json", "w") as file:
    json.dump({"found": found, "seen": base64.b64encode(b"".join(seen)).decode()}, file)
"""


@pytest.mark.parametrize("network", [True, False], ids=["network", "no network"])
def test_a_program_in_a_plan_has_no_code_cookie_or_token(server: Served, network: bool) -> None:
    world = server.world
    browser, token, code = server.browser(), server.token("approver"), server.code()
    world.plan()
    world.write("try.py", PROGRAM.encode())
    options = ["--network"] if network else []
    state = str(world.state)
    world.ok("stage", "run", *options, "--", PYTHON, "try.py", server.url, state)
    assert world.build()["outcome"] == "done"
    row = msgspec.json.decode((world.root / "found.json").read_bytes())
    found, seen = row["found"], base64.b64decode(row["seen"])
    if network:  # it reaches the port, and gets what anyone gets
        assert found == {
            "/login": 200,
            "/": 200,  # the login, after a redirect
            "/api/v1/access": 401,
            "/api/v1/plans": 401,
            "/api/v1/events": 401,
            "code": 401,
            "logout": 401,
            "terminal": False,
            "state": False,  # nor can it make a code or a token itself
        }
    else:
        assert (found.pop("terminal"), found.pop("state")) == (False, False)
        assert {type(answer) for answer in found.values()} == {str}
    secrets = [browser.headers["cookie"].partition("=")[2], browser.headers["x-assent-csrf"], code]
    secrets.append(token.headers["authorization"].split()[1])
    assert len(seen) > 100
    assert [each for each in secrets if each.encode() in seen] == []
    assert server.browser().get("/access")["role"] == "approver"
