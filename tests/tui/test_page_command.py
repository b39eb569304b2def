"""`/web` opens the page of the running server, and says how to start one; `/mcp` lists servers."""

import re
from pathlib import Path

import msgspec
from tests.cli.terminal import Terminal
from tests.tui.harness import Seat, Stage
from tests.tui.tmux import OPEN, Tmux, needs_tmux


def test_without_a_server_the_screen_says_how_to_start_one(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        seat.app.run_slash("/web")
        await seat.shows("next: in a shell: assent serve")
        assert "in your browser" not in seat.text()

    stage.show(act)


@needs_tmux
def test_the_page_of_the_running_server_is_opened_logged_in(server: Tmux, stage: Stage) -> None:
    log, program = stage.base / "opened", stage.base / "browser"
    program.write_text(f'#!/bin/sh\ncp "${{1#file://}}" {log}.part\nmv {log}.part {log}\n', "utf-8")
    program.chmod(0o755)
    stage.env["BROWSER"] = str(program)
    terminal = Terminal(stage, "serve", "--json", "--no-open")
    try:
        url = msgspec.json.decode(terminal.stdout.readline())["url"]
        screen = server.open(stage, "assent")
        screen.shows(OPEN)
        screen.enter("/web")
        screen.shows(f"in your browser: {url}")
        page = log.read_text("utf-8")
        assert url in page
        assert re.search(r'name="code" value="[^"]+"', page)
        assert not (Path(stage.env["XDG_STATE_HOME"]) / "assent" / "serve" / "login.html").exists()
    finally:
        stage.ok("serve", "stop")
        terminal.end()


def test_mcp_servers_are_listed(stage: Stage) -> None:
    async def act(seat: Seat) -> None:
        seat.app.run_slash("/mcp")
        await seat.shows("No MCP server configured")

    stage.show(act)
