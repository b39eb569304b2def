"""Loads the agents of a workspace: Assent's, the person's and the project's."""

from pathlib import Path

from assent.app.lazy import lazy_yaml
from assent.app.settings import locate_workspace, user_paths
from assent.config.agents import agent_folders, load_agents
from assent.core.session.agent import Agent
from assent.executor.disk import Disk


def list_agents(folder: str) -> list[Agent]:
    """Returns the agents by name."""
    places = agent_folders(user_paths().config, Path.home(), locate_workspace(folder)[1])
    agents, _ = load_agents(places, Disk().open, lazy_yaml)
    return [agents[name] for name in sorted(agents)]
