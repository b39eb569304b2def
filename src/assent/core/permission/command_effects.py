"""Command effects: what programs do by their arguments, in tables that gate and review share.

Both look here, so that neither calls a command harmless that the other warns of.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final, Literal, TypeAlias, get_args

# As the review calls them.
CommandEffectKind: TypeAlias = Literal[
    "installs", "network", "deletes", "writes_outside", "protected"
]
COMMAND_EFFECT_KINDS: Final[tuple[CommandEffectKind, ...]] = get_args(CommandEffectKind)

# Programs, and the words with which they install. `*` is any word, `-` is none at all.
_INSTALL_VERBS: Final = {
    "pip pip3": "install",
    "pipx": "install inject upgrade run",
    "uv": "install add sync",
    "conda mamba micromamba": "install create update",
    "poetry pdm": "install add update sync",
    "npm pnpm": "install i ci add update up exec dlx",
    "yarn": "install add up upgrade dlx -",
    "bun": "install i add update x",
    "npx uvx bunx pnpx cpan cpanm": "*",
    "deno": "install add",
    "apt apt-get aptitude dnf yum microdnf zypper": "install upgrade full-upgrade dist-upgrade in",
    "apk": "add upgrade",
    "pacman yay paru": "-S -Sy -Syu -Syyu -U",
    "dpkg rpm": "-i -U -ivh -Uvh --install",
    "brew port snap flatpak choco winget scoop": "install upgrade reinstall",
    "nix nix-env": "install -i -iA --install profile",
    "cargo": "install add",
    "go": "install get",
    "gem luarocks opam cabal stack helm make": "install",
    "bundle": "install add update -",
    "composer": "install require update",
    "mix": "deps.get",
    "dart flutter": "get add",
    "dotnet nuget": "add install restore",
}
INSTALLERS: Final = {
    program: frozenset(words.split())
    for group, words in _INSTALL_VERBS.items()
    for program in group.split()
}
# Programs, and the words with which they do it. `*` is any word.
_NETWORK: Final = (
    ("curl wget aria2c ssh scp sftp nc ncat netcat socat telnet ftp lynx w3m http https xh", "*"),
    ("ping dig nslookup host traceroute whois gh glab aws gcloud az heroku fly flyctl vercel", "*"),
    ("netlify firebase wrangler doctl kubectl helm terraform tofu pulumi twine npx uvx bunx", "*"),
    ("pnpx supabase railway stripe hub argocd flux nomad consul vault rsync mail sendmail", "*"),
    ("git", "push pull fetch clone ls-remote submodule lfs"),
    ("docker podman buildah skopeo", "pull push run build login"),
    ("npm pnpm yarn bun cargo poetry uv pdm gem flit hatch", "publish upload push login"),
    ("cargo", "fetch update search"),
    ("go", "mod"),
)
_DELETES: Final = (
    ("rm rmdir unlink shred srm trash", "*"),
    ("git", "clean rm restore"),
    ("find fd", "-delete"),
    ("rsync", "--delete --delete-after --delete-before --delete-during --delete-excluded"),
)
_OFFLINE: Final = frozenset({"make", "dpkg", "rpm"})  # they install what lies here already
_PYTHON: Final = re.compile(r"(?:python|pypy)[\d.]*")


def command_effects(command: Sequence[str]) -> frozenset[CommandEffectKind]:
    """Returns what one command does: its program's name, without a folder, and its words."""
    if not command:
        return frozenset()
    found: set[CommandEffectKind] = set()
    if installs_packages(command):
        found |= {"installs"} if command[0] in _OFFLINE else {"installs", "network"}
    if _is_in(command, _NETWORK):
        found.add("network")
    if _is_in(command, _DELETES) or _throws_away(command):
        found.add("deletes")
    return frozenset(found)


def sorted_effects(found: Iterable[CommandEffectKind]) -> tuple[CommandEffectKind, ...]:
    """Returns effects once each, in one order."""
    known = set(found)
    return tuple(effect for effect in COMMAND_EFFECT_KINDS if effect in known)


def installs_packages(command: Sequence[str]) -> bool:
    """Tells whether a command installs something."""
    program, *words = command
    if _PYTHON.fullmatch(program) and "-m" in words[:-1]:
        program, *words = words[words.index("-m") + 1 :]
    wanted = INSTALLERS.get(program, frozenset())
    return "*" in wanted or not wanted.isdisjoint(words or ["-"])


def _is_in(command: Sequence[str], table: Sequence[tuple[str, str]]) -> bool:
    program, *words = command
    rows = [verbs.split() for programs, verbs in table if program in programs.split()]
    return any(verbs == ["*"] or not set(verbs).isdisjoint(words) for verbs in rows)


def _throws_away(command: Sequence[str]) -> bool:
    match command:
        case ["git", "reset", *words]:
            return "--hard" in words
        case ["git", "checkout", *words]:
            return not {"--", ".", "-f", "--force"}.isdisjoint(words)
        case _:
            return False
