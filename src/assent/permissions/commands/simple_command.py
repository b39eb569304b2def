"""Simple commands of a parsed line: their words, and which of them say what is done."""

import re
from typing import Final

import msgspec

from assent.core.shell.parser import GLOB_CHARS
from assent.permissions.commands.read_only.spec import words_in

_QUOTED: Final = re.compile("[ \t\n'\"]")


class CommandWord(msgspec.Struct, frozen=True):
    """A word without its quotes; `plain`: whatever is set in the shell, it is this very text."""

    text: str
    plain: bool = True


class SimpleCommand(msgspec.Struct, frozen=True):
    """A program or builtin with its arguments, and the commands whose output it is given."""

    words: tuple[CommandWord, ...]
    sets: tuple[str, ...] = ()  # variables that it sets, as NAME=VALUE
    fed: tuple["SimpleCommand", ...] = ()
    given: bool = False  # its input is a file or text in the line
    open: bool = False  # words of its input are added to its own

    @property
    def name(self) -> str:
        """The program's name without its folder."""
        return self.words[0].text.rpartition("/")[2] if self.words else ""

    @property
    def arguments(self) -> tuple[str, ...]:
        return tuple(word.text for word in self.words[1:])

    @property
    def text(self) -> str:
        """The words with one blank between them; only one with blanks or quotes in it is quoted."""
        return " ".join(quote_word(word.text) for word in self.words)

    @property
    def operands(self) -> tuple[str, ...]:
        """Every argument that is no option; what an option takes counts as one."""
        words = self.arguments
        cut = words.index("--") if "--" in words else len(words)
        found = [word for word in words[:cut] if not word.startswith("-") or word == "-"]
        return (*found, *words[cut + 1 :])

    def has(self, letters: str, *options: str) -> bool:
        """Tells whether one of some options is there, a letter also among others: `-rf`."""
        short = [w for w in self.arguments if w[:1] == "-" and w[:2] != "--"]
        return any(letter in word for word in short for letter in letters) or any(
            word.partition("=")[0] in options for word in self.arguments
        )


class ParsedCommandLine(msgspec.Struct, frozen=True):
    """What is in a line; `doubts` are the reasons why there may be more."""

    commands: tuple[SimpleCommand, ...] = ()
    targets: tuple[CommandWord, ...] = ()  # what redirects write
    doubts: tuple[str, ...] = ()
    nested: bool = False  # one command stands in the words of another
    inputs: tuple[CommandWord, ...] = ()  # what redirects read


def quote_word(text: str) -> str:
    """Returns a word so that no two lists of words look the same."""
    if text and not _QUOTED.search(text):
        return text
    return "'" + text.replace("'", "'\"'\"'") + "'"


def is_wild(text: str) -> bool:
    """Tells whether unquoted text becomes something else: wildcards, braces, a home folder."""
    return text.startswith("~") or any(sign in text for sign in GLOB_CHARS + "{}")


# Command arity: how many words say what a command does, so that the rest are its arguments.


class GlobalOptions(msgspec.Struct, frozen=True):
    """Options that may stand before a command of a program: those with a value, and risky ones."""

    values: frozenset[str] = frozenset()
    runs: frozenset[str] = frozenset()


GLOBAL_OPTIONS: Final[dict[str, GlobalOptions]] = {
    "git": GlobalOptions(
        words_in("-C -c --git-dir --work-tree --namespace --super-prefix --config-env "
                         "--exec-path --attr-source"),
        words_in("-c --config-env --exec-path --git-dir --work-tree"),
    ),
    "docker": GlobalOptions(words_in("-H --host -c --context --config -l --log-level")),
    "kubectl": GlobalOptions(words_in("-n --namespace --context --cluster --kubeconfig -s")),
    "helm": GlobalOptions(words_in("-n --namespace --kube-context --kubeconfig")),
    "npm": GlobalOptions(words_in("--prefix -w --workspace")),
    "pnpm": GlobalOptions(words_in("-C --dir --filter -F")),
    "yarn": GlobalOptions(words_in("--cwd")),
    "cargo": GlobalOptions(words_in("--color --config -Z -C")),
    "gh": GlobalOptions(words_in("-R --repo")),
    "aws": GlobalOptions(words_in("--profile --region --output --endpoint-url")),
    "go": GlobalOptions(words_in("-C")),
    "systemctl": GlobalOptions(words_in("-H -M --host --machine")),
    "terraform": GlobalOptions(),
}  # fmt: skip

_TWO: Final = frozenset(
    words_in(
        "git cargo make just task go npm pnpm yarn bun deno pip pip3 pipx uv poetry pdm pipenv rye "
        "hatch conda mamba docker podman kubectl helm terraform tofu pulumi systemctl service "
        "apt apt-get dnf yum pacman brew snap gem bundle rails rake mix composer php artisan "
        "dotnet mvn gradle gradlew ./gradlew sbt lein stack cabal opam dune swift flutter dart "
        "gh glab aws gcloud az heroku fly vercel netlify firebase hg svn jj fossil rustup nvm "
        "asdf mise direnv tox nox pre-commit alembic django-admin flask meson cmake ninja bazel "
        "buck2 nix ansible vagrant minikube kind redis-cli openssl"
    )
)
_THREE: Final = frozenset(
    [
        *((name, "run") for name in words_in("npm pnpm yarn bun uv poetry pdm pipenv rye hatch")),
        *(("git", name) for name in words_in(
            "remote stash submodule worktree notes bisect config"
        )),
        *(("docker", name) for name in words_in(
            "compose container image volume network system builder buildx context"
        )),
        *(("podman", name) for name in words_in("compose container image volume network system")),
        *(("kubectl", name) for name in words_in(
            "get delete create rollout config apply describe"
        )),
        *(("gh", name) for name in words_in("pr issue repo release run workflow api secret gist")),
        *(("glab", name) for name in words_in("mr issue repo release ci")),
        *(("uv", name) for name in words_in("pip tool python")),
        *((name, "config") for name in words_in("npm pip cargo gcloud")),
        *(("go", name) for name in words_in("mod tool work")),
        *(("terraform", name) for name in words_in("state workspace")),
        *((name, service) for name in ("aws", "gcloud", "az") for service in words_in(
            "s3 ec2 iam lambda ecs eks rds sts compute storage container functions vm group"
        )),
        ("rails", "db"), ("dotnet", "tool"), ("nix", "flake"), ("python", "-m"), ("python3", "-m"),
    ]
)  # fmt: skip


def arity(words: tuple[str, ...]) -> int:
    """Returns how many of these words say what is done; the first is the program's name."""
    name = words[0].rpartition("/")[2] if words else ""
    if (name, *words[1:2]) in _THREE:
        return 3
    return 2 if name in _TWO else 1


def without_global_options(command: SimpleCommand) -> tuple[CommandWord, ...]:
    """Returns the words without the options that stand before the command of a program."""
    known = GLOBAL_OPTIONS.get(command.name)
    if known is None:
        return command.words
    words = list(command.words[1:])
    while words and words[0].text.startswith("-"):
        takes = words[0].text in known.values
        words = words[2:] if takes else words[1:]
    return (command.words[0], *words) if words else command.words


def subcommand_words(command: SimpleCommand) -> tuple[CommandWord, ...]:
    """Returns the words after the name that say what is done."""
    words = without_global_options(command)
    return words[1 : arity(tuple(word.text for word in words))]
