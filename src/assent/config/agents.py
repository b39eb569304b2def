"""Loads agents from Markdown files: the package's, the user's and the project's.

A project's file can change text and limits and remove tools; it cannot add any (law 9).
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import msgspec

from assent.config.config_file import ConfigFile, Opener, ownership_problem, read_content
from assent.config.front_matter import (
    AgentFile,
    UnusableFile,
    agent_from_file,
    ignored_warning,
    one_line_path,
    read_front_matter,
    split_front_matter,
)
from assent.config.paths import path_within
from assent.core.decoding import decode_json
from assent.core.errors import UsageError
from assent.core.session.agent import Agent

BUILTIN = ("plan", "build", "explore", "general")
NEEDED = ("plan", "build")  # a mode has no other agent to fall back on
FOREIGN = "Plans a change with Assent;"  # so begins what `init` describes to OpenCode
AGENT_SKIPPED = "The agent was skipped."
MAX_FILES = 200  # files that are read


class AgentFolders(msgspec.Struct, frozen=True):
    """The folders that are searched for agents: the user's, then the workspace's."""

    user: tuple[Path, ...]
    root: bytes

    @property
    def project(self) -> Path:
        return Path(os.fsdecode(self.root)) / ".opencode" / "agents"


def agent_folders(config: Path, home: Path, root: bytes) -> AgentFolders:
    """Returns the default folders; `config` is Assent's own configuration folder."""
    opencode = home / ".config" / "opencode"
    return AgentFolders((opencode / "agent", opencode / "agents", config / "agents"), root)


def agent_files(folders: Iterable[str]) -> Iterator[str]:
    """Yields every path on which agents depend: their folders, and the files in them."""
    for folder in folders:
        yield folder
        with suppress(OSError):
            yield from (f"{folder}/{name}" for name in os.listdir(folder) if name.endswith(".md"))


def load_agents(places: AgentFolders, opener: Opener) -> tuple[dict[str, Agent], tuple[str, ...]]:
    """Returns the agents by name, and a warning for each file that cannot be used."""
    agents, warnings = {name: _builtin(name) for name in BUILTIN}, list[str]()
    for folder in (*places.user, places.project):
        own = folder != places.project
        for path in _files(folder, places.root, own=own, warnings=warnings):
            try:
                source, file = _read(path, opener, own=own)
            except (UnusableFile, UsageError, FileNotFoundError) as error:
                warnings.append(ignored_warning(path, error, AGENT_SKIPPED))
                continue
            why = ownership_problem(source, places.root) if own else ""
            warnings += (
                [f"{one_line_path(path)} is treated as a project file: {why}."] if why else []
            )
            warnings += _take(agents, path, file, trusted=own and not why)
    return agents, tuple(warnings)


def _take(agents: dict[str, Agent], path: Path, file: AgentFile, *, trusted: bool) -> list[str]:
    """Adds the agent of a file; returns warnings."""
    name = path.stem
    if not trusted and name == "plan" and file.description.startswith(FOREIGN):
        return []  # it tells OpenCode how to plan with Assent
    if file.disable and name in NEEDED:
        return [f"{one_line_path(path)} disables {name}, which a mode needs; this is ignored."]
    if file.disable and not trusted and name in agents:
        return [
            f"{one_line_path(path)} disables {name}, which only the user may do; this is ignored."
        ]
    if file.disable:
        agents.pop(name, None)
        return []
    try:
        agent = _checked(name, file, trusted=trusted)
    except UnusableFile as error:
        return [ignored_warning(path, error, AGENT_SKIPPED)]
    if known := agents.get(name):
        agent = _over(known, agent) if trusted else known.narrowed(agent)
    agents[name] = agent
    return []


def _checked(name: str, file: AgentFile, *, trusted: bool) -> Agent:
    if not name.replace("-", "").replace("_", "").isalnum():
        raise UnusableFile("its name has characters other than letters, digits, - and _")
    if not trusted and file.model.startswith("scripted:"):
        raise UnusableFile("it sets a scripted model, which only the user may choose")
    return agent_from_file(name, file, "user" if trusted else "project")


def _over(known: Agent, agent: Agent) -> Agent:
    """Returns an agent with its user's changes, which are not limited."""
    return msgspec.structs.replace(
        agent,
        description=agent.description or known.description,
        prompt=agent.prompt or known.prompt,
        tools={**known.tools, **agent.tools},
    )


def _files(folder: Path, root: bytes, *, own: bool, warnings: list[str]) -> Iterator[Path]:
    """Lists the Markdown files in a folder, by name; a project's folder must be inside it."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".md"))
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        warnings.append(f"{one_line_path(folder)} cannot be read: {error.strerror}. It is ignored.")
        return
    if not own and path_within(root, os.fsencode(folder)) != b".opencode/agents":
        warnings.append(
            f"{one_line_path(folder)} points elsewhere through a symlink. It is ignored."
        )
        return
    if len(names) > MAX_FILES:
        warnings.append(
            f"{one_line_path(folder)} has {len(names)} agents; the first {MAX_FILES} are used."
        )
    yield from (folder / name for name in names[:MAX_FILES])


def _read(path: Path, opener: Opener, *, own: bool) -> tuple[ConfigFile, AgentFile]:
    source, text = read_content(path, opener, follow=own)
    file, body = read_front_matter(text, AgentFile)
    return source, msgspec.structs.replace(file, prompt=body.strip() or file.prompt)


@cache
def _builtin(name: str) -> Agent:
    """Reads an agent of the package; its front matter has a name and a word or JSON per line."""
    path = os.path.join(os.path.dirname(__file__), "..", "agents", f"{name}.md")
    text: bytes = __spec__.loader.get_data(path)  # type: ignore[union-attr]
    front, body = split_front_matter(text)
    members = dict(line.split(": ", 1) for line in front.splitlines())
    tools = decode_json(members.get("tools", "{}"), dict[str, bool])
    file = AgentFile(members["description"], members["mode"], tools=tools, prompt=body.strip())
    return agent_from_file(name, file, "builtin")
