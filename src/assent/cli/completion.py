"""`assent completion`: a script that completes commands and options in bash, zsh or fish.

The script holds every command and option itself, so that completing starts no program.
"""

from collections.abc import Iterator

import click

from assent.cli.goal.options import FLAGS, VALUES
from assent.cli.invocation import Invocation, with_invocation
from assent.cli.options import OneOf, examples
from assent.core.permission.mode import MODES
from assent.render.lines import Line

HELP_NAMES = ["-h", "--help"]  # click keeps what it is asked first
SHELLS = ("bash", "zsh", "fish")
GOAL_OPTIONS = sorted({*FLAGS, *VALUES, "--version"})
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
    script = _fish(root) if shell == "fish" else _bash(tree)
    if shell == "zsh":
        script = ZSH + script
    lines = [Line("plain", line) for line in script.splitlines()]
    call.output.answer({"shell": shell, "script": script}, lines)


def command_words(command: click.Command, path: str = "") -> Iterator[tuple[str, list[str]]]:
    """Yields the path of every command, with the commands and options that may follow it."""
    ctx = click.Context(command, help_option_names=HELP_NAMES)
    options = [name for option in command.get_params(ctx) for name in _names(option)]
    inner: list[str] = []
    if isinstance(command, click.Group):
        inner = command.list_commands(ctx)
    yield path, [*inner, *sorted({*options, *([] if path else GOAL_OPTIONS)})]
    if isinstance(command, click.Group):
        for name in inner:
            if (found := command.get_command(ctx, name)) is not None:
                yield from command_words(found, f"{path} {name}".strip())


def _names(param: click.Parameter) -> list[str]:
    if not isinstance(param, click.Option) or param.hidden:
        return []
    return [*param.opts, *param.secondary_opts]


def _bash(tree: dict[str, list[str]]) -> str:
    paths = "|".join(f'"{path}"' for path in tree if path)
    cases = "\n".join(
        f'        "{path}") COMPREPLY=($(compgen -W "{" ".join(words)}" -- "$cur")) ;;'
        for path, words in tree.items()
    )
    values = "\n".join(
        f'        {option}) COMPREPLY=($(compgen -W "{words}" -- "$cur")); return ;;'
        for option, words in FIXED.items()
    )
    return BASH.format(paths=paths, cases=cases, values=values)


def _fish(root: click.Command) -> str:
    rows = ["# Completion of assent for fish", "complete -c assent -e"]
    for path, command in _commands(root):
        ctx = click.Context(command, help_option_names=HELP_NAMES)
        outer = path.split()
        seen = " ".join(f"; and __fish_seen_subcommand_from {word}" for word in outer)
        seen = seen.removeprefix("; and ") or "__fish_use_subcommand"
        if isinstance(command, click.Group):
            inner = command.list_commands(ctx)
            unless = f"{seen}; and not __fish_seen_subcommand_from {' '.join(inner)}"
            when = unless if outer else seen
            for name in inner:
                found = command.get_command(ctx, name)
                about = found.get_short_help_str(80) if found else ""
                rows.append(f"complete -c assent -n {_q(when)} -a {name} -d {_q(about)}")
        for option in command.get_params(ctx):
            long = [name[2:] for name in _names(option) if name.startswith("--")]
            about = (option.help or "") if isinstance(option, click.Option) else ""
            rows += [
                f"complete -c assent -n {_q(seen)} -l {name}{_fixed(name)} -d {_q(about)}"
                for name in long
            ]
    long = [name[2:] for name in GOAL_OPTIONS if name.startswith("--")]
    rows += [
        f"complete -c assent -n __fish_use_subcommand -l {name}{_fixed(name)}" for name in long
    ]
    return "\n".join(rows) + "\n"


def _fixed(name: str) -> str:
    """Returns the values that an option takes, for fish, where there are few."""
    words = FIXED.get(f"--{name}")
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
