"""git: the sub-commands that only look. The sandbox and a hardened environment hold the rest."""

from collections.abc import Mapping

import msgspec

from assent.core.errors import Refused
from assent.permissions.commands.read_only.git_environment import GIT_ENVIRONMENT
from assent.permissions.commands.read_only.spec import (
    OperandSpec,
    OptionSpec,
    ParsedArguments,
    ReadOnlyCommandSpec,
)
from assent.permissions.commands.read_only.tables import (
    git_contents,
    git_diff,
    git_history,
    git_refs,
    git_settings,
)


def _only_version(found: ParsedArguments) -> None:
    if not found.has("--version"):
        raise Refused("`git` needs a sub-command.")


def _hardened(spec: ReadOnlyCommandSpec) -> ReadOnlyCommandSpec:
    """Returns a table, and all below it, of commands that do what the repository configures."""
    children: Mapping[str, ReadOnlyCommandSpec] = {
        name: _hardened(child) for name, child in spec.children.items()
    }
    return msgspec.structs.replace(
        spec, obeys=True, environment=spec.environment or GIT_ENVIRONMENT, children=children
    )


_GIT = ReadOnlyCommandSpec(
    "git",
    OptionSpec.of(
        "P --no-pager --no-optional-locks --literal-pathspecs --no-replace-objects --version",
        files="C",
    ),
    OperandSpec(most=0),
    runs=("git --version", "git -P --version"),
    refused=(
        "git",
        "git -c a=b log",
        "git --git-dir=x log",
        "git --exec-path=x log",
        "git --work-tree x status",
        "git --config-env=a=b log",
        "git -p log",
        "git --paginate log",
        "git --help",
        "git commit",
        "git help log",
    ),
    rule=_only_version,
    children={
        **git_history.GIT_HISTORY_COMMANDS,
        **git_diff.GIT_DIFF_COMMANDS,
        **git_refs.GIT_REF_COMMANDS,
        **git_contents.GIT_CONTENT_COMMANDS,
        **git_settings.GIT_SETTING_COMMANDS,
    },
)

GIT_COMMANDS = (_hardened(_GIT),)
