"""Parses YAML front matter: plain values only, without tags and aliases."""

from typing import Any

import yaml  # type: ignore[import-untyped]

from assent.config.front_matter import UnusableFile
from assent.core.json_depth import is_too_deep


class _PlainYamlLoader(yaml.SafeLoader):  # type: ignore[misc]
    """Refuses aliases, with which a few lines can mean gigabytes."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise UnusableFile("its front matter has an alias, which is not read here")
        return super().compose_node(parent, index)


def read_yaml(text: str) -> Any:
    """Returns the values of a YAML document; raises Bad if it is none."""
    try:
        found = yaml.load(text, _PlainYamlLoader) or {}
    except yaml.YAMLError as error:
        raise UnusableFile(f"its front matter is no YAML: {_line(error)}") from None
    except (ValueError, OverflowError) as error:
        raise UnusableFile(f"its front matter has a value that makes no sense: {error}") from None
    except RecursionError:
        raise UnusableFile("its front matter is nested too deeply") from None
    if is_too_deep(found):
        raise UnusableFile("its front matter is nested too deeply")
    return found


def _line(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or "it cannot be read"
    return f"{problem}, line {mark.line + 1}" if mark else str(problem)
