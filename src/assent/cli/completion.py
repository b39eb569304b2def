"""`assent completion`: a script that completes commands and options in bash, zsh or fish.

The script holds every command and option itself, so that completing starts no program.
"""

from collections.abc import Iterator

import click

from assent.app.documentation import topics
from assent.cli.goal.options import FLAGS, VALUES
from assent.cli.invocation import Invocation, with_invocation
from assent.cli.options import OneOf, examples
from assent.cli.registry import COMMANDS
from assent.config.settings import MEANINGS, NAMED
from assent.core.llm import PROVIDERS
from assent.core.permission.mode import MODES
from assent.render.lines import Line

HELP_NAMES = ["-h", "--help"]  # click keeps what it is asked first
SHELLS = ("bash", "zsh", "fish")
GOAL_OPTIONS = sorted({*FLAGS, *VALUES, "--version"})
KEYS = [key for key in MEANINGS if key.partition(".")[0] not in NAMED]
PROVIDER_NAMES = [provider.name for provider in PROVIDERS]
# What an argument can be, where the command itself does not say it.
ARGUMENTS = {
    "help": lambda: [*topics(), *COMMANDS],
    "config get": lambda: KEYS,
    "config set": lambda: KEYS,
    "config unset": lambda: KEYS,
    "login": lambda: PROVIDER_NAMES,
    "logout": lambda: PROVIDER_NAMES,
    "models list": lambda: PROVIDER_NAMES,
}
FIXED = {"--output-format": "text json stream-json", "--mode": " ".join(MODES)}

BASH = """\
# Completion of assent for bash: eval "$(assent completion bash)"
_assent() {{
    local cur="${{COMP_WORDS[COMP_CWORD]}}" prev="${{COMP_WORDS[COMP_CWORD-1]}}" path="" word
    local -i at=1
    while (( at < COMP_CWORD )); do
        word="${{COMP_WORDS[at]}}"
        case "$word" in
            -C) at+=1 ;;
            -*) ;;
            *) case "${{path:+$path }}$word" in
                {paths}) path="${{path:+$path }}$word" ;;
                *) break ;;
            esac ;;
        esac
        at+=1
    done
    COMPREPLY=()
    case "$prev" in
{values}
    esac
    case "$path" in
{cases}
    esac
}}
complete -o default -F _assent assent
"""
ZSH = """\
#compdef assent
# Completion of assent for zsh: source <(assent completion zsh)
autoload -U +X bashcompinit && bashcompinit
"""
# The first completion loads the script where it is a file of $fpath, and is answered, too.
ZSH_END = """\
if [[ "${funcstack[1]}" = _assent ]]; then _bash_complete -o default -F _assent; fi
"""


@click.command(
    epilog=examples(
        "assent completion bash >> ~/.bashrc\n"
        "assent completion zsh > ~/.zsh/completions/_assent\n"
        "assent completion fish > ~/.config/fish/completions/assent.fish"
    )
)
@click.argument("shell", type=OneOf(SHELLS))
@with_invocation
def completion(call: Invocation, shell: str) -> None:
    """Print a script that completes commands and options in a shell."""
    root = click.get_current_context().find_root().command
    tree = dict(command_words(root))
    values = _option_values(root)
    script = _fish(root, values) if shell == "fish" else _bash(tree, values)
    if shell == "zsh":
        script = ZSH + script + ZSH_END
    lines = [Line("plain", line) for line in script.splitlines()]
    call.output.answer({"shell": shell, "script": script}, lines)


def command_words(command: click.Command, path: str = "") -> Iterator[tuple[str, list[str]]]:
    """Yields the path of every command, with the commands and options that may follow it."""
    ctx = click.Context(command, help_option_names=HELP_NAMES)
    options = [name for option in command.get_params(ctx) for name in _names(option)]
    inner: list[str] = []
    if isinstance(command, click.Group):
        inner = command.list_commands(ctx)
    words = [*inner, *argument_words(command, path)]
    yield path, [*words, *sorted({*options, *([] if path else GOAL_OPTIONS)})]
    if isinstance(command, click.Group):
        for name in inner:
            if (found := command.get_command(ctx, name)) is not None:
                yield from command_words(found, f"{path} {name}".strip())


def argument_words(command: click.Command, path: str) -> list[str]:
    """Returns what the arguments of a command can be, as far as that is known beforehand."""
    chosen = [
        word
        for param in command.params
        if isinstance(param, click.Argument) and isinstance(param.type, click.Choice)
        for word in param.type.choices
    ]
    return [*chosen, *ARGUMENTS.get(path, list)()]


def _option_values(command: click.Command, path: str = "") -> dict[str, str]:
    """Returns the values of options that take one of a few words."""
    found = dict(FIXED)
    for _, each in _commands(command, path):
        for option in each.params:
            if isinstance(option, click.Option) and isinstance(option.type, click.Choice):
                found |= {name: " ".join(option.type.choices) for name in option.opts}
    return found


def _names(param: click.Parameter) -> list[str]:
    if not isinstance(param, click.Option) or param.hidden:
        return []
    return [*param.opts, *param.secondary_opts]


def _bash(tree: dict[str, list[str]], fixed: dict[str, str]) -> str:
    paths = "|".join(f'"{path}"' for path in tree if path)
    cases = "\n".join(
        f'        "{path}") COMPREPLY=($(compgen -W "{" ".join(words)}" -- "$cur")) ;;'
        for path, words in tree.items()
    )
    values = "\n".join(
        f'        {option}) COMPREPLY=($(compgen -W "{words}" -- "$cur")); return ;;'
        for option, words in fixed.items()
    )
    return BASH.format(paths=paths, cases=cases, values=values)


def _fish(root: click.Command, fixed: dict[str, str]) -> str:
    rows = ["# Completion of assent for fish", "complete -c assent -e"]
    top = f"not __fish_seen_subcommand_from {' '.join(COMMANDS)}"  # -C DIR may come before one
    for path, command in _commands(root):
        ctx = click.Context(command, help_option_names=HELP_NAMES)
        outer = path.split()
        seen = " ".join(f"; and __fish_seen_subcommand_from {word}" for word in outer)
        seen = seen.removeprefix("; and ") or top
        if isinstance(command, click.Group):
            inner = command.list_commands(ctx)
            unless = f"{seen}; and not __fish_seen_subcommand_from {' '.join(inner)}"
            when = unless if outer else seen
            for name in inner:
                found = command.get_command(ctx, name)
                about = found.get_short_help_str(80) if found else ""
                rows.append(f"complete -c assent -n {_q(when)} -a {name} -d {_q(about)}")
        rows += [
            f"complete -c assent -n {_q(seen)} -f -a {word}"
            for word in argument_words(command, path)
        ]
        for option in command.get_params(ctx):
            long = [name[2:] for name in _names(option) if name.startswith("--")]
            about = (option.help or "") if isinstance(option, click.Option) else ""
            rows += [
                f"complete -c assent -n {_q(seen)} -l {name}{_fixed(name, fixed)} -d {_q(about)}"
                for name in long
            ]
    long = [name[2:] for name in GOAL_OPTIONS if name.startswith("--")]
    rows += [f"complete -c assent -n {_q(top)} -l {name}{_fixed(name, fixed)}" for name in long]
    return "\n".join(rows) + "\n"


def _fixed(name: str, fixed: dict[str, str]) -> str:
    """Returns the values that an option takes, for fish, where there are few."""
    words = fixed.get(f"--{name}")
    return f" -x -a {_q(words)}" if words else ""


def _commands(command: click.Command, path: str = "") -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        ctx = click.Context(command, help_option_names=HELP_NAMES)
        for name in command.list_commands(ctx):
            if (found := command.get_command(ctx, name)) is not None:
                yield from _commands(found, f"{path} {name}".strip())


def _q(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
