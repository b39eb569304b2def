"""git: commands about the repository itself: configuration, submodules, version."""

from assent.permissions.commands.read_only.git_environment import GIT_CONFIG_ENVIRONMENT
from assent.permissions.commands.read_only.spec import OperandSpec, OptionSpec, ReadOnlyCommandSpec
from assent.permissions.commands.read_only.tables.git_rules import reads_config

_WHERE = OptionSpec.of(
    flags=(
        "z --local --global --system --worktree --null --name-only --show-names"
        " --no-show-names --includes --no-includes --show-origin --show-scope --bool --int"
        " --bool-or-int --bool-or-str --path --expiry-date --fixed-value"
    ),
    values="t --type --default --blob",
    files="f --file",
)
_CONFIG = ReadOnlyCommandSpec(
    "git config",
    _WHERE | OptionSpec.of("l --get --get-all --get-regexp --get-urlmatch --list"),
    OperandSpec(files=False),
    runs=(
        "git config --get user.name",
        "git config --list --show-origin",
        "git config -l",
        "git config --get-regexp '^remote'",
        "git config user.email",
        "git config --global --type=bool core.bare",
        "git config -f .gitmodules --list",
    ),
    refused=(
        "git config",
        "git config user.name me",
        "git config edit",
        "git config -e",
        "git config --unset a.b",
        "git config --add a.b c",
        "git config --replace-all a.b c",
        "git config set a.b c",
        "git config --global a.b c",
        "git config --ge a.b",
        "git config remove-section a.b",
    ),
    rule=reads_config,
    environment=GIT_CONFIG_ENVIRONMENT,
    # An older git takes these words for keys without a section, says so, and ends.
    children={
        "get": ReadOnlyCommandSpec(
            "git config get",
            _WHERE | OptionSpec.of("--all --regexp", "--value --url"),
            OperandSpec(most=1, files=False),
            runs=("git config get user.name", "git config get --all --show-origin a.b"),
            refused=("git config get a.b c", "git config get --add a.b", "git config set a.b"),
            environment=GIT_CONFIG_ENVIRONMENT,
        ),
        "list": ReadOnlyCommandSpec(
            "git config list",
            _WHERE,
            OperandSpec(most=0),
            runs=("git config list", "git config list --local --show-scope"),
            refused=("git config list a.b", "git config list -e"),
            environment=GIT_CONFIG_ENVIRONMENT,
        ),
    },
)
_SUBMODULE_STATUS = OptionSpec.of("q --quiet --cached --recursive")

GIT_SETTING_COMMANDS = {
    "config": _CONFIG,
    "submodule": ReadOnlyCommandSpec(
        "git submodule",
        OptionSpec.of("q --quiet"),
        OperandSpec(most=0),
        runs=("git submodule", "git submodule --quiet"),
        refused=(
            "git submodule update",
            "git submodule foreach ls",
            "git submodule add x",
            "git submodule sync",
        ),
        children={
            "status": ReadOnlyCommandSpec(
                "git submodule status",
                _SUBMODULE_STATUS,
                runs=("git submodule status", "git submodule status --recursive -- lib"),
                refused=("git submodule status --init", "git submodule init"),
            ),
            "summary": ReadOnlyCommandSpec(
                "git submodule summary",
                OptionSpec.of("--cached --files", "n --summary-limit"),
                runs=("git submodule summary", "git submodule summary --cached HEAD"),
                refused=("git submodule summary --for-status", "git submodule deinit x"),
            ),
        },
    ),
    "bisect": ReadOnlyCommandSpec(
        "git bisect",
        operands=OperandSpec(most=0),
        refused=("git bisect", "git bisect start", "git bisect run ls", "git bisect view"),
        alone=False,
        children={
            "log": ReadOnlyCommandSpec(
                "git bisect log",
                operands=OperandSpec(most=0),
                runs=("git bisect log",),
                refused=("git bisect log x", "git bisect reset", "git bisect log -x"),
            )
        },
    ),
    "sparse-checkout": ReadOnlyCommandSpec(
        "git sparse-checkout",
        operands=OperandSpec(most=0),
        refused=("git sparse-checkout", "git sparse-checkout set a", "git sparse-checkout disable"),
        alone=False,
        children={
            "list": ReadOnlyCommandSpec(
                "git sparse-checkout list",
                operands=OperandSpec(most=0),
                runs=("git sparse-checkout list",),
                refused=("git sparse-checkout list x", "git sparse-checkout add x"),
            )
        },
    ),
    "var": ReadOnlyCommandSpec(
        "git var",
        OptionSpec.of("l"),
        OperandSpec(most=1, files=False),
        runs=("git var -l", "git var GIT_EDITOR"),
        refused=("git var a b", "git var -x"),
        environment=GIT_CONFIG_ENVIRONMENT,
    ),
    "version": ReadOnlyCommandSpec(
        "git version",
        OptionSpec.of("--build-options"),
        OperandSpec(most=0),
        runs=("git version", "git version --build-options"),
        refused=("git version x", "git version --output=x"),
    ),
}
