"""Loads who can work in a session here: agents of Assent, of the person and of the project."""

from pathlib import Path

from assent.app.late import late_yaml
from assent.app.settings import located, places_here
from assent.config.agents import agent_folders, load_agents
from assent.core.session.agent import Agent
from assent.workspace.disk import Disk


def agents_here(folder: str) -> list[Agent]:
    """Returns the agents by name."""
    places = agent_folders(places_here().config, Path.home(), located(folder)[1])
    agents, _ = load_agents(places, Disk().open, late_yaml)
    return [agents[name] for name in sorted(agents)]
