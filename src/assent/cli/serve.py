"""`assent serve …`: starts and stops the server, and manages who may use it."""

import asyncio
import os
import signal
import socket
import sys
import time
from contextlib import closing, suppress
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import click

from assent.app.composition import may_approve_without_terminal, open_engine
from assent.app.ports import HOST
from assent.app.server import FOLDER, ServerAddress, ServerState, open_server_state
from assent.app.session import RuntimeCache, SessionOptions, open_session_runtime
from assent.app.settings import load_settings, locate_workspace, user_paths
from assent.cli.invocation import Invocation, with_invocation
from assent.cli.options import OneOf, WholeNumber, examples
from assent.cli.stdin import read_piped
from assent.cli.terminal import has_terminal, read_reply, read_secret, write_line
from assent.config.settings import ServeSettings
from assent.core.access import ROLES, Access
from assent.core.errors import AssentError, Busy, Declined, NotFound, UsageError
from assent.core.event import Role
from assent.core.paths import display_path
from assent.core.text.hidden_chars import visible_line
from assent.render.lines import Line, local_time, table_lines
from assent.render.rows import Row, encoded, path_fields
from assent.web.access import AccessControl
from assent.web.host import ServerHost
from assent.web.origins import WILDCARDS, in_url, is_loopback, make_origins
from assent.web.server import Server, ServerOptions

if TYPE_CHECKING:
    from assent.app.engine import Engine
    from assent.app.session import SessionRuntime
    from assent.ports.session import Asker

PAGE_S: Final = 5.0  # in which a browser reads the file that it was opened on
STOP_S: Final = 15.0  # for which `stop` waits for the server to end
MAX_PASSWORD_BYTES: Final = 1024
MANY_TURNS: Final = 4  # at work at once, for which one processor is better than several
STREAMS_SHARE: Final = 0.8  # of all connections that may be event streams
NOT_ENCRYPTED: Final = (
    "Not encrypted: anyone on the network can read what is sent, and change it. Use a proxy with "
    "TLS (serve.public_url) on a network that you do not trust."
)
NO_PASSWORD: Final = (
    "A code is all that a login needs, also through {url}. `assent serve password` adds a password."
)
NO_TERMINAL: Final = "No terminal to show a code on. Run `assent serve code` on one to log in."


class LocalServerHost(ServerHost):
    """Implements web.ServerHost for workspaces of this machine."""

    def __init__(self, roots: list[str], access: AccessControl) -> None:
        self._roots = roots
        self._access = access
        self._engines: dict[str, Engine] = {}
        self._kept = RuntimeCache()
        self._lock = Lock()

    @property
    def user(self) -> str:
        return _user()

    def roots(self) -> list[str]:
        added = [os.fsdecode(root) for root in self._access.roots]
        return list(dict.fromkeys([*self._roots, *filter(os.path.isdir, added)]))

    def engine(self, root: str) -> "Engine":
        with self._lock:
            if root not in self._engines:
                self._engines[root], warnings = open_engine(root, lenient=True)
                for words in warnings:
                    self._engines[root].warn(words)
            return self._engines[root]

    def runtime(
        self, root: str, asker: "Asker", model: str | None = None, agent: str = ""
    ) -> "SessionRuntime":
        options = SessionOptions(model, agent)
        return open_session_runtime(root, asker, options, self.engine(root), self._kept)

    def default_mode(self, root: str) -> str:
        top, here = locate_workspace(root)[1], user_paths()
        try:
            return self._kept.configurations.read(top, here).loaded.settings.mode
        except AssentError:  # of the project's file; a turn says so
            return load_settings(top, here, lenient=True).settings.mode

    def close(self) -> None:
        with self._lock:
            for engine in self._engines.values():
                engine.close()
            self._engines = {}
            self._kept.close()


@click.group(
    invoke_without_command=True,
    epilog=examples(
        "assent serve\nassent serve --port 4567 --no-open\nassent serve --workspace ~/src/shop\n"
        "assent serve code --role viewer\nassent serve token --name ci --role author\n"
        "assent serve stop"
    ),
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    metavar="N",
    type=WholeNumber(0, 65535),
    default=0,
    help="Port, up to 65535; 0: the last one.",
)
@click.option("--workspace", multiple=True, metavar="DIR", help="Serve DIR; can be repeated.")
@click.option("--no-open", is_flag=True, help="Don't open a browser.")
@with_invocation
@click.pass_context
def serve(context: click.Context, /, call: Invocation, **options: Any) -> int | None:
    """Serve plans, reviews and sessions over HTTP on this machine.

    People log in with a one-time code, which is shown on your terminal only, or by the browser that
    is opened there. Programs use a token. With --json, the first line is the URL and the process.
    """
    if context.invoked_subcommand is not None:
        return None
    with open_server_state() as state:
        running = state.running()
        if running is not None:
            return _offer_code(call, state, running)
        return _serve(call, state, **options)


def _offer_code(call: Invocation, state: ServerState, running: ServerAddress) -> int:
    """Names the server that runs already, and shows a fresh code for it to a user who wants one."""
    told = f"A server already runs at {running.url or 'another address'} (process {running.pid})."
    if not call.output.as_json and not call.no_input and has_terminal():
        reply = read_reply(f"{told} Show a fresh one-time code? [y/N] ")
        if reply is not None and reply.strip().lower() in ("y", "yes"):
            _show_code(AccessControl(state.store, state.clock), running.url, "approver")
            return 0
    raise Busy(told, "assent serve code")


def _serve(
    call: Invocation,
    state: ServerState,
    host: str,
    port: int,
    workspace: tuple[str, ...],
    no_open: bool,
) -> int:
    from assent.web.api import ENDPOINTS
    from assent.web.app import make_app, watch_access
    from assent.web.event_feed import EventFeed
    from assent.web.feed_messages import FeedRenderer
    from assent.web.listener import connection_limits, delay_signals, make_listener, serve
    from assent.web.processor import SharedProcessor

    if not host.strip():
        raise UsageError("--host needs an address.", "assent serve --host 127.0.0.1")
    access = AccessControl(state.store, state.clock)
    remote = not is_loopback(host)
    if remote and not access.has_password:
        raise UsageError(
            f"Serving at {host} lets other machines reach it, and needs a password.",
            "assent serve password",
        )
    settings = _settings(call.folder)
    named = [os.path.join(call.folder, each) for each in workspace or ("",)]
    roots = [os.fsdecode(locate_workspace(each)[1]) for each in named]
    local = LocalServerHost(roots, access)
    with state.locks.hold(FOLDER, "assent serve"):
        state.page.remove()  # of a server that was killed
        with closing(_listening(host, port, state.address().port)) as listening:
            number, limits = listening.getsockname()[1], connection_limits()
            names = (socket.gethostname(),) if host in WILDCARDS else ()
            origins = make_origins(host, number, names, settings.public_url)
            url = f"http://{in_url(host)}:{number}"
            state.remember(url, number, os.getpid())
            feed = EventFeed(state.store, FeedRenderer(local).render)
            server = Server(
                local,
                access,
                feed,
                ServerOptions(
                    number,
                    origins,
                    remote,
                    settings.token_may_decide,
                    int(limits.connections * STREAMS_SHARE),
                ),
            )
            delay_signals()
            _tell(call, url, _remarks(server))
            listener = make_listener(make_app(server, ENDPOINTS), limits)
            greeting = _greet(state, server, url, opens=not no_open)
            processor = SharedProcessor(lambda: server.turns.at_work >= MANY_TURNS)
            tasks = (feed.run(), watch_access(server), greeting, processor.run())
            with closing(server):
                server.resume()
                asyncio.run(serve(listener, listening, *tasks))
    return 0


def _settings(folder: str) -> ServeSettings:
    """Returns what the user's configuration says about the server; a project's cannot."""
    root = locate_workspace(folder)[1]
    return load_settings(root, user_paths(), lenient=True).settings.serve


def _listening(host: str, port: int, last: int) -> socket.socket:
    """Returns a socket on the port that is wanted, else on the last one, else on any."""
    from assent.web.listener import open_socket

    if not port and last:
        with suppress(OSError):
            return open_socket(host, last)
    try:
        return open_socket(host, port)
    except OSError as error:
        where = f"Port {port} of {host}" if port else f"The address {host}"
        raise UsageError(
            f"{where} cannot be used: {error.strerror or error}.", "assent serve --port 0"
        ) from error


def _remarks(server: Server) -> list[str]:
    """Returns what a user should know about who can reach the server."""
    public = server.options.origins.public
    found = [NOT_ENCRYPTED] if server.options.remote else []
    if public and not server.needs_password:
        found.append(NO_PASSWORD.format(url=public))
    return found if has_terminal() else [*found, NO_TERMINAL]


def _tell(call: Invocation, url: str, remarks: list[str]) -> None:
    if call.output.as_json:
        sys.stdout.buffer.write(encoded({"url": url, "pid": os.getpid()}) + b"\n")
    else:
        print(f"Serving at {url}. Stop it with Ctrl-C or `assent serve stop`.")
    sys.stdout.flush()
    call.output.warn(remarks)


async def _greet(state: ServerState, server: Server, url: str, *, opens: bool) -> None:
    """Shows a code on the user's terminal, and opens the browser with another one."""
    from assent.web.login_file import login_file, when_used

    if not has_terminal():
        return
    _show_code(server.access, server.options.origins.public or url, "approver")
    if not opens:
        return
    code, _ = server.access.issue_code("approver", server.host.user)
    try:
        state.page.write(login_file(url, code))
        state.page.show()
        await when_used(server, code)
    except AssentError as error:
        write_line(f"The browser was not opened: {error.message}")
    finally:
        state.page.remove()


def open_page() -> str:
    """Opens the page of the running server, logged in; returns its address.

    The file that the browser opens is private, has a one-time code, and is removed soon.
    """
    from assent.web.login_file import login_file

    with open_server_state() as state:
        running = state.running()
        if running is None or not running.url:
            raise NotFound("No server is running.", "assent serve")
        code, _ = AccessControl(state.store, state.clock).issue_code("approver", _user())
        try:
            state.page.write(login_file(running.url, code))
            state.page.show()
            time.sleep(PAGE_S)
        finally:
            state.page.remove()
        return running.url


def _show_code(access: AccessControl, url: str, role: Role) -> str:
    """Shows a fresh code on the user's terminal, and nowhere else; returns when it expires."""
    code, expires = access.issue_code(role, _user())
    write_line(f"One-time code for {url}/login: {code}")
    return expires


@serve.command(epilog=examples("assent serve code\nassent serve code --role viewer --json"))
@click.option("--role", type=OneOf(ROLES), default="approver", show_default=True)
@with_invocation
def code(call: Invocation, role: Role) -> None:
    """Show a one-time code for the running server, on your terminal only.

    It lives five minutes and works once. Without a terminal there is no code, unless your
    configuration sets approve.without_terminal: then it is in the answer.
    """
    openly = may_approve_without_terminal(call.folder, lenient=True)
    if not openly and not has_terminal():
        raise Declined("No terminal to show a code on.", "run `assent serve code` on a terminal")
    with open_server_state() as state:
        running = state.running()
        if running is None or not running.url:
            raise NotFound("No server is running.", "assent serve")
        access = AccessControl(state.store, state.clock)
        row: Row = {"url": running.url, "code": None, "role": role}
        if openly:
            row["code"], row["expires"] = access.issue_code(role, _user())
        else:
            row["expires"] = _show_code(access, running.url, role)
    told = f"Code: {row['code']}" if openly else "The code is on your terminal."
    call.output.answer(row, [Line("plain", f"{told} Log in at {running.url}/login")])


@serve.command(
    epilog=examples(
        "assent serve token --name ci --role author\nassent serve token --list\n"
        "assent serve token --revoke ci"
    )
)
@click.option("--name", default="", help="Name of the new token.")
@click.option("--role", type=OneOf(ROLES), default="viewer", show_default=True)
@click.option("--list", "listed", is_flag=True, help="List tokens and logins instead.")
@click.option("--revoke", metavar="NAME", default="", help="Revoke a token or a login instead.")
@with_invocation
def token(call: Invocation, name: str, role: Role, listed: bool, revoke: str) -> None:
    """Create a token for a program, revoke one, or list tokens and logins.

    A token is shown once. It never approves, builds, undoes, recovers, raises a mode or answers a
    permission, unless your configuration sets serve.token_may_decide.
    """
    if sum(map(bool, (name, listed, revoke))) > 1:
        raise UsageError("Use one of --name, --list and --revoke.", "assent serve token --help")
    with open_server_state() as state:
        access = AccessControl(state.store, state.clock)
        if listed:
            _list(call, access.current())
        elif revoke:
            gone = access.revoke(revoke, _user())
            call.output.answer(
                {"revoked": gone.name}, [Line("plain", f"Revoked {gone.kind} {gone.name}.")]
            )
        else:
            name = name or access.free_name()
            secret = access.create_token(name, role, _user())
            row = {"token": secret, "name": name, "role": role}
            call.output.answer(row, [Line("plain", secret)])


def _list(call: Invocation, found: list[Access]) -> None:
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
    title = ("ID", "KIND", "NAME", "ROLE", "SINCE", "EXPIRES")
    table = [
        (
            each.access,
            each.kind,
            visible_line(each.name),
            each.role,
            local_time(each.granted_at),
            each.expires_at[:10] or "never",
        )
        for each in found
    ]
    lines = (
        table_lines("plain", [title, *table]) if found else [Line("plain", "No tokens or logins.")]
    )
    call.output.answer({"access": rows}, lines)


@serve.command(epilog=examples("assent serve logout\nassent serve logout --tokens"))
@click.argument("name", required=False, default="")
@click.option("--tokens", is_flag=True, help="Revoke all tokens, too.")
@with_invocation
def logout(call: Invocation, name: str, tokens: bool) -> None:
    """Log out every browser, or the one with this name or id."""
    if name and tokens:
        raise UsageError("Pass NAME or --tokens, not both.", "assent serve logout --help")
    with open_server_state() as state:
        access = AccessControl(state.store, state.clock)
        if name:
            gone = [access.revoke(name, _user())]
        else:
            gone = access.revoke_all("cookie", _user())
            gone += access.revoke_all("token", _user()) if tokens else []
    call.output.answer(
        {"revoked": [each.name for each in gone]}, [Line("plain", f"Logged out: {len(gone)}.")]
    )


@serve.command(
    epilog=examples(
        "assent serve password\nassent serve password --remove\n"
        "pass show assent | assent serve password --stdin"
    )
)
@click.option("--remove", is_flag=True, help="Remove the password.")
@click.option("--stdin", "piped", is_flag=True, help="Read it from stdin, not from the terminal.")
@with_invocation
def password(call: Invocation, remove: bool, piped: bool) -> None:
    """Set the password that logins from other machines need, in addition to a code.

    --stdin needs approve.without_terminal in your configuration.
    """
    if remove and piped:
        raise UsageError("Use one of --remove and --stdin.", "assent serve password --help")
    typed = "" if remove else _piped_password(call) if piped else _typed_password(call)
    if not typed and not remove:
        raise UsageError("No password was typed. Nothing changed.", "assent serve password")
    with open_server_state() as state:
        AccessControl(state.store, state.clock).set_password(typed, _user())
    words = "The password was removed." if remove else "The password is set."
    call.output.answer({"password": not remove}, [Line("plain", words)])


def _piped_password(call: Invocation) -> str:
    if not may_approve_without_terminal(call.folder, lenient=True):
        raise Declined("A password is typed on a terminal.", "assent serve password")
    return read_piped(MAX_PASSWORD_BYTES)[0].rstrip("\r\n")


def _typed_password(call: Invocation) -> str:
    typed = None if call.no_input else read_secret("New password: ")
    if typed is None:
        raise Declined("No terminal to type a password on.", "assent serve password")
    if typed and read_secret("Again: ") != typed:
        raise UsageError("The passwords differ. Nothing changed.", "assent serve password")
    return typed


@serve.command(epilog=examples("assent serve add ~/src/shop\nassent serve add . --remove"))
@click.argument("served", metavar="DIR")
@click.option("--remove", is_flag=True, help="Don't serve it any more.")
@with_invocation
def add(call: Invocation, served: str, remove: bool) -> None:
    """Serve another workspace, now and after every start."""
    named = os.path.join(call.folder, served)
    # One that was deleted since can still be removed, by the path that it had.
    gone = remove and not os.path.isdir(named)
    root = os.fsencode(os.path.abspath(named)) if gone else locate_workspace(named)[1]
    with open_server_state() as state:
        access = AccessControl(state.store, state.clock)
        if remove and root not in access.roots:
            raise UsageError(f"{display_path(root)} was not added.", "assent serve add DIR")
        access.serve_workspace(root, _user(), served=not remove)
    words = "is no longer served" if remove else "is served"
    call.output.answer(
        {**path_fields("root", root), "served": not remove},
        [Line("plain", f"{display_path(root)} {words}.")],
    )


@serve.command(epilog=examples("assent serve stop"))
@with_invocation
def stop(call: Invocation) -> None:
    """Stop the running server; what is recorded goes on after the next start."""
    with open_server_state() as state:
        running = state.running()
        if running is not None and running.pid:
            with suppress(ProcessLookupError):
                os.kill(running.pid, signal.SIGTERM)
        if running is not None and not state.wait_for_end(STOP_S):
            raise AssentError(
                f"The server did not stop within {STOP_S:.0f} s.", f"ps -fp {running.pid}"
            )
    words = f"Stopped the server at {running.url}." if running else "No server is running."
    call.output.answer({"stopped": running is not None}, [Line("plain", words)])


def _user() -> str:
    return HOST.get().user()
