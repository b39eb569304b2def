"""Endpoints about the configuration: models, agents, modes, rules and settings; never a secret."""

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import msgspec

from assent.core.errors import NotFound
from assent.core.permission.rule_match import agent_layers
from assent.render.modes import mode_rows
from assent.render.rows import Row, redacted_row
from assent.render.rules import grant_row, layer_row
from assent.web.answers import AgentsAnswer, ModelsAnswer, ModesAnswer, RulesAnswer, SettingsAnswer
from assent.web.endpoint import ApiCall, Endpoint, Nothing

if TYPE_CHECKING:
    from assent.app.engine import Engine
    from assent.app.models import AvailableModel
    from assent.core.permission.rule import Grant
    from assent.core.session.agent import Agent

MODELS_S: Final = 10.0  # in which the servers of models are not asked again
HIDDEN: Final = "[hidden]"
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,60}")


class ConfigurationQuery(msgspec.Struct, frozen=True):
    """Whose configuration is meant: a workspace's; by default, the first that is served."""

    workspace: str = ""


class RulesQuery(ConfigurationQuery, frozen=True):
    """Whose rules are listed; with an agent, its own as well."""

    agent: str = ""


def models(call: ApiCall[ConfigurationQuery, Nothing]) -> Row:
    """Lists the models that can be used, and why each can.

    Providers with a key are listed from the catalog; other servers are queried.
    """
    root = os.fsdecode(_engine(call).root)
    found, warnings = call.server.answers.get(("models", root), MODELS_S, lambda: _models(root))
    return _redacted({"models": msgspec.to_builtins(found)}, warnings)


def _models(root: str) -> "tuple[list[AvailableModel], list[str]]":
    from assent.app.models import open_models

    opened, warnings = open_models(root)
    try:
        found, troubles = opened.found()
        critic = opened.critic_problem()
        return found, [*warnings, *troubles, *([critic] if critic else [])]
    finally:
        opened.close()


def agents(call: ApiCall[ConfigurationQuery, Nothing]) -> Row:
    """Lists the agents: built in, the user's, and the project's."""
    found = known_agents(_engine(call))
    return _redacted({"agents": [_agent_row(agent) for agent in found.values()]})


def known_agents(engine: "Engine") -> "dict[str, Agent]":
    """Returns the agents of a workspace by name, as its files define them now."""
    from assent.app.session import list_agents

    return {agent.name: agent for agent in list_agents(os.fsdecode(engine.root))}


def _agent_row(agent: "Agent") -> Row:
    return {
        "name": agent.name,
        "description": agent.description or None,
        "kind": agent.kind,
        "source": agent.source,
        "model": agent.model or None,
        "steps": agent.steps or None,
        "tools": agent.tools,
    }


def modes(call: ApiCall[ConfigurationQuery, Nothing]) -> Row:
    """Lists all modes: built in, the user's and the project's."""
    from assent.app.modes import ModeManager

    found = ModeManager(os.fsdecode(_engine(call).root))
    return _redacted({"modes": mode_rows(found.modes)}, found.warnings)


def rules(call: ApiCall[RulesQuery, Nothing]) -> Row:
    """Lists all permission rules by layer, and remembered answers."""
    from assent.app.rules import open_rules

    engine = _engine(call)
    found, agent = open_rules(os.fsdecode(engine.root)), call.query.agent
    if agent and agent not in found.agents:
        raise NotFound(f"Agent {agent!a} not found.", "GET /api/v1/agents")
    own = agent_layers(found.agents[agent]) if agent else ()
    layers = [layer_row(layer) for layer in (*found.policy.layers, *own)]
    grants = [_grant_row(engine, grant) for grant in engine.grants.all()]
    return _redacted({"layers": layers, "grants": grants}, found.warnings)


def _grant_row(engine: "Engine", grant: "Grant") -> Row:
    try:
        slug = engine.sessions.find(grant.session).slug
    except NotFound:  # its session no longer exists
        slug = ""
    return grant_row(grant, slug, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))


def settings(call: ApiCall[ConfigurationQuery, Nothing]) -> Row:
    """Lists every setting with its value, its default and its meaning.

    API keys, values of headers and of environment variables, request options, and arguments of
    programs are not shown.
    """
    from assent.app.settings import load_settings, user_paths
    from assent.config.settings import MEANINGS, NAMED, Settings

    loaded = load_settings(_engine(call).root, user_paths(), lenient=True)
    rows = [
        row
        for key, meaning in MEANINGS.items()
        for row in _setting_rows(key, meaning, loaded.settings, Settings(), NAMED)
    ]
    return _redacted({"settings": rows}, loaded.warnings)


def _setting_rows(
    key: str, meaning: str, found: object, usual: object, named: Mapping[str, tuple[str, Any]]
) -> Iterator[Row]:
    """Yields the row of a setting; of one with a name of the user's choice, one for each name."""
    table = key.partition(".")[0]
    if table not in named:
        yield _setting_row(key, key, meaning, _value(found, key), _value(usual, key))
        return
    name, empty = named[table]
    field = key.removeprefix(f"{table}.{name}.")
    for each, value in getattr(found, table).items():
        own = f"{table}.{each}.{field}"
        yield _setting_row(own, key, meaning, getattr(value, field), getattr(empty, field))


def _setting_row(key: str, kind: str, meaning: str, value: object, usual: object) -> Row:
    shown = SHOWN.get(kind, _as_it_is)
    return {"key": key, "value": shown(value), "default": shown(usual), "meaning": meaning}


def _value(settings: object, key: str) -> object:
    for part in key.split("."):
        settings = getattr(settings, part)
    return settings


def _as_it_is(value: Any) -> object:
    return msgspec.to_builtins(value)


def _names(pairs: Any) -> Row:
    return dict.fromkeys(pairs, HIDDEN)


def _program(command: Any) -> list[str]:
    """Returns a command without its arguments, in which people put keys."""
    words: Sequence[str] = command
    return [*words[:1], *[HIDDEN] * (len(words) > 1)]


def _variable(name: Any) -> str:
    """Returns the name of a variable; what cannot be one may be the key itself."""
    return name if not name or (_VARIABLE.fullmatch(name) and "_" in name) else HIDDEN


def _address(url: Any) -> str:
    """Returns a URL without user, password and query."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return HIDDEN
    return f"{parts.scheme}://{host}{parts.path}" if url else ""


def _hooks(found: Any) -> list[Row]:
    return [{**msgspec.to_builtins(hook), "run": _program(hook.run)} for hook in found]


# How settings are shown in which secrets may be; all others as they are.
SHOWN: Final[Mapping[str, Callable[[Any], object]]] = {
    "providers.NAME.base_url": _address,
    "providers.NAME.headers": _names,
    "providers.NAME.options": _names,
    "providers.NAME.key_env": _variable,
    "mcp.NAME.command": _program,
    "mcp.NAME.environment": _names,
    "hooks": _hooks,
}


def _engine(call: ApiCall[Any, Any]) -> "Engine":
    found = call.server.engines(call.query.workspace)
    if not found:
        raise NotFound("No workspace is served here.", "assent serve add DIR")
    return found[0]


def _redacted(row: Row, warnings: Sequence[str] = ()) -> Row:
    return redacted_row({**row, "warnings": list(dict.fromkeys(warnings))})


ENDPOINTS = (
    Endpoint(
        "GET", "/models", "Models that can be used, and why", "viewer", models, ConfigurationQuery,
        answer=ModelsAnswer,
    ),
    Endpoint("GET", "/agents", "Agents", "viewer", agents, ConfigurationQuery, answer=AgentsAnswer),
    Endpoint("GET", "/modes", "Modes, built in and custom", "viewer", modes, ConfigurationQuery,
             answer=ModesAnswer),
    Endpoint(
        "GET", "/rules", "Permission rules and remembered answers", "viewer", rules, RulesQuery,
        answer=RulesAnswer,
    ),
    Endpoint(
        "GET", "/settings", "Settings, without secrets", "viewer", settings, ConfigurationQuery,
        answer=SettingsAnswer,
    ),
)  # fmt: skip
