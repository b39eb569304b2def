"""`assent serve …`: starts and stops the server, and manages who may use it."""

import asyncio
import os
import signal
import sys
from contextlib import closing, suppress
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import click

from assent.app.settings import load_settings, locate_workspace, user_paths
from assent.cli.invocation import Invocation, with_invocation
from assent.cli.options import examples
from assent.cli.terminal import has_terminal, read_reply, write_line
from assent.core.access import ROLES
from assent.core.errors import AssentError, Busy, Declined, UsageError
from assent.core.event import Role
from assent.core.paths import display_path
from assent.render.lines import Line, local_time, table_lines
from assent.render.rows import Row, encoded, path_fields
from assent.web.access import AccessControl
from assent.web.host import ServerHost
from assent.web.server import Server, ServerOptions

if TYPE_CHECKING:
    from assent.app.engine import Engine
    from assent.app.session import SessionRuntime
    from assent.ports.session import Asker

FOLDER: Final = "serve"  # in the state directory: the port that is taken again, and who serves
LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")


class LocalServerHost(ServerHost):
    """Implements web.ServerHost for workspaces of this machine."""

    def __init__(self, roots: list[str], access: AccessControl) -> None:
        self._roots = roots
        self._access = access
        self._engines: dict[str, Engine] = {}
        self._lock = Lock()

    @property
    def user(self) -> str:
        from assent.app.ports import HOST

        return HOST.get().user()

    def roots(self) -> list[str]:
        added = [os.fsdecode(root) for root in self._access.roots]
        return list(dict.fromkeys([*self._roots, *filter(os.path.isdir, added)]))

    def engine(self, root: str) -> "Engine":
        from assent.app.composition import open_engine

        with self._lock:
            if root not in self._engines:
                self._engines[root], warnings = open_engine(root, lenient=True)
                for words in warnings:
                    self._engines[root].warn(words)
            return self._engines[root]

    def runtime(self, root: str, asker: "Asker") -> "SessionRuntime":
        from assent.app.session import SessionOptions, open_session_runtime

        return open_session_runtime(root, asker, SessionOptions(None), self.engine(root))

    def default_mode(self, root: str) -> str:
        loaded = load_settings(locate_workspace(root)[1], user_paths(), lenient=True)
        return loaded.settings.mode

    def close(self) -> None:
        with self._lock:
            for engine in self._engines.values():
                engine.close()
            self._engines = {}


@click.group(
    invoke_without_command=True,
    epilog=examples(
        "assent serve\nassent serve --port 4567 --no-open\nassent serve code --role viewer\n"
        "assent serve token --name ci --role author\nassent serve stop"
    ),
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port; 0: the last one.")
@click.option("--workspace", multiple=True, metavar="DIR", help="Serve DIR; can be repeated.")
@click.option("--no-open", is_flag=True, help="Don't open a browser.")
@with_invocation
@click.pass_context
def serve(context: click.Context, /, call: Invocation, **options: Any) -> int | None:
    """Serve plans, reviews and sessions over HTTP on this machine.

    People log in with a one-time code, which is shown on your terminal only. Programs use a token.
    """
    if context.invoked_subcommand is not None:
        return None
    from assent.app.server import open_server_state

    with open_server_state() as state:
        return _serve(call, state, **options)


def _serve(
    call: Invocation,
    state: Any,
    host: str,
    port: int,
    workspace: tuple[str, ...],
    no_open: bool,
) -> int:
    from assent.app.server import FOLDER, ServerAddress
    from assent.web.api import ENDPOINTS
    from assent.web.app import make_app
    from assent.web.event_feed import EventFeed
    from assent.web.feed_messages import FeedRenderer
    from assent.web.listener import make_listener, open_socket, serve

    running = state.running()
    if running is not None:
        raise Busy(f"A server already runs at {running.url}.", "assent serve code")
    access = AccessControl(state.store, state.clock)
    remote = host not in LOOPBACK
    if remote and not access.has_password:
        raise UsageError(
            f"Serving at {host} lets others reach it, and needs a password.",
            "assent serve password",
        )
    roots = [os.fsdecode(locate_workspace(each)[1]) for each in workspace or (call.folder,)]
    local = LocalServerHost(roots, access)
    with state.locks.hold(FOLDER, "assent serve"):
        listening = _listening(open_socket, host, port, state.address().port)
        number = listening.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        url = f"http://{shown}:{number}"
        state.remember(ServerAddress(url, number, os.getpid()))
        origins = {url, *(f"http://{each}:{number}" for each in ("127.0.0.1", "localhost"))}
        settings = load_settings(locate_workspace(call.folder)[1], user_paths(), lenient=True)
        options = ServerOptions(number, origins, remote, settings.settings.serve.token_may_decide)
        feed = EventFeed(state.store, FeedRenderer(local).render)
        server = Server(local, access, feed, options)
        _tell(call, {"url": url, "pid": os.getpid()}, f"Serving at {url}", remote=remote)
        _show_code(access, local.user, url)
        with closing(server):
            server.resume()
            listener = make_listener(make_app(server, ENDPOINTS))
            asyncio.run(serve(listener, listening, feed.run()))
    return 0


def _listening(open_socket: Any, host: str, port: int, last: int) -> Any:
    """Returns a socket on the port that is wanted, else on the last one, else on any."""
    if port:
        try:
            return open_socket(host, port)
        except OSError as error:
            raise UsageError(
                f"Port {port} of {host} cannot be used: {error.strerror}.", "assent serve --port 0"
            ) from error
    with suppress(OSError):
        return open_socket(host, last)
    return open_socket(host, 0)


def _tell(call: Invocation, row: Row, words: str, *, remote: bool) -> None:
    if call.output.as_json:
        sys.stdout.buffer.write(encoded(row) + b"\n")
    else:
        print(words)
        if remote:
            print("Not encrypted: anyone on the network can read and change what is sent.")
    sys.stdout.flush()


def _show_code(access: AccessControl, user: str, url: str, role: Role = "approver") -> str:
    """Shows a fresh code on the user's terminal, if there is one; returns when it expires."""
    if not has_terminal():
        return ""
    code, expires = access.issue_code(role, user)
    write_line(f"One-time code for {url}/login: {code}")
    return expires


@serve.command(epilog=examples("assent serve code\nassent serve code --role viewer"))
@click.option("--role", type=click.Choice(ROLES), default="approver", show_default=True)
@with_invocation
def code(call: Invocation, role: Role) -> None:
    """Show a one-time code for the running server, on your terminal only.

    It lives five minutes and works once. Without a terminal there is no code, unless your
    configuration sets approve.without_terminal.
    """
    from assent.app.composition import may_approve_without_terminal
    from assent.app.server import open_server_state

    with open_server_state() as state:
        running = state.running()
        if running is None:
            raise AssentError("No server is running.", "assent serve")
        openly = may_approve_without_terminal(call.folder, lenient=True)
        if not openly and not has_terminal():
            raise Declined("No terminal to show a code on.", "run `assent serve code` yourself")
        secret, expires = AccessControl(state.store, state.clock).issue_code(role, _user())
    row: Row = {"url": f"{running.url}/login", "code": None, "role": role, "expires": expires}
    if openly:
        row["code"] = secret
    else:
        write_line(f"One-time code for {row['url']}: {secret}")
    told = f"Code: {secret}" if openly else "The code is on your terminal."
    call.output.answer(row, [Line("plain", told)])


@serve.command(epilog=examples("assent serve token --name ci --role author\nassent serve token"))
@click.option("--name", default="", help="Name of a new token.")
@click.option("--role", type=click.Choice(ROLES), default="viewer", show_default=True)
@click.option("--revoke", metavar="NAME", default="", help="Revoke a token or a login.")
@with_invocation
def token(call: Invocation, name: str, role: Role, revoke: str) -> None:
    """Create a token for a program, revoke one, or list tokens and logins.

    A token is shown once. It never approves, builds, undoes, recovers, raises a mode or answers a
    permission, unless your configuration sets serve.token_may_decide.
    """
    from assent.app.server import open_server_state

    with open_server_state() as state:
        access = AccessControl(state.store, state.clock)
        if revoke:
            gone = access.revoke(revoke, _user())
            call.output.answer(
                {"revoked": gone.name}, [Line("plain", f"Revoked {gone.kind} {gone.name}.")]
            )
        elif name:
            secret = access.create_token(name, role, _user())
            row = {"token": secret, "name": name, "role": role}
            call.output.answer(row, [Line("plain", secret)])
        else:
            _list(call, access)


def _list(call: Invocation, access: AccessControl) -> None:
    found = access.current()
    rows = [
        {
            "id": each.access,
            "kind": each.kind,
            "name": each.name,
            "role": each.role,
            "granted_at": each.granted_at,
            "expires_at": each.expires_at or None,
        }
        for each in found
    ]
    title = ("KIND", "NAME", "ROLE", "SINCE", "EXPIRES")
    table = [
        (each.kind, each.name, each.role, local_time(each.granted_at), each.expires_at[:10])
        for each in found
    ]
    lines = (
        [*table_lines("plain", [title, *table])]
        if found
        else [Line("plain", "No tokens or logins.")]
    )
    call.output.answer({"access": rows}, lines)


@serve.command(epilog=examples("assent serve logout\nassent serve logout --tokens"))
@click.option("--tokens", is_flag=True, help="Revoke all tokens, too.")
@with_invocation
def logout(call: Invocation, tokens: bool) -> None:
    """Log out every browser."""
    from assent.app.server import open_server_state

    with open_server_state() as state:
        access = AccessControl(state.store, state.clock)
        gone = access.revoke_all("cookie", _user())
        gone += access.revoke_all("token", _user()) if tokens else []
    call.output.answer(
        {"revoked": [each.name for each in gone]}, [Line("plain", f"Logged out: {len(gone)}.")]
    )


@serve.command(epilog=examples("assent serve password"))
@click.option("--remove", is_flag=True, help="Remove the password.")
@with_invocation
def password(call: Invocation, remove: bool) -> None:
    """Set the password that logins from other machines need."""
    from assent.app.server import open_server_state

    typed = "" if remove else None if call.no_input else read_reply("New password: ")
    if typed is None:
        raise Declined("No terminal to type a password on.", "assent serve password")
    if not typed and not remove:
        raise UsageError("No password was typed. Nothing changed.", "assent serve password")
    with open_server_state() as state:
        AccessControl(state.store, state.clock).set_password(typed, _user())
    words = "The password was removed." if remove else "The password is set."
    call.output.answer({"password": not remove}, [Line("plain", words)])


@serve.command(epilog=examples("assent serve add ~/src/shop\nassent serve add . --remove"))
@click.argument("folder", metavar="DIR")
@click.option("--remove", is_flag=True, help="Don't serve it any more.")
@with_invocation
def add(call: Invocation, folder: str, remove: bool) -> None:
    """Serve another workspace, now and after every start."""
    from assent.app.server import open_server_state

    root = locate_workspace(folder)[1]
    with open_server_state() as state:
        AccessControl(state.store, state.clock).serve_workspace(root, _user(), served=not remove)
    words = "is no longer served" if remove else "is served"
    call.output.answer(
        {**path_fields("root", root), "served": not remove},
        [Line("plain", f"{display_path(root)} {words}.")],
    )


@serve.command(epilog=examples("assent serve stop"))
@with_invocation
def stop(call: Invocation) -> None:
    """Stop the running server."""
    from assent.app.server import open_server_state

    with open_server_state() as state:
        running = state.running()
        if running is not None:
            with suppress(ProcessLookupError):
                os.kill(running.pid, signal.SIGTERM)
    words = f"Stopped the server at {running.url}." if running else "No server is running."
    call.output.answer({"stopped": running is not None}, [Line("plain", words)])


def _user() -> str:
    from assent.app.ports import HOST

    return HOST.get().user()
