"""What the text of a command shows: its effects, and the sensitive paths that it names."""

import re
from collections.abc import Iterable, Iterator, Sequence
from posixpath import normpath
from typing import Final, Literal, TypeAlias, get_args

import msgspec

from assent.core.permission.rule import PermissionPattern
from assent.core.permission.sensitive_paths import protected_reason, secret_file, secret_reason
from assent.core.plan.operation import RunCommand
from assent.core.session.event import RiskLevel

# Command effects: what programs do by their arguments, in tables that gate and review share.
#
# Both look here, so that neither calls a command harmless that the other warns of.


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


class CommandAnalysis(msgspec.Struct, frozen=True):
    """What a look at the text of a command line found; the sandbox holds whatever it missed."""

    commands: tuple[str, ...]  # each command in it, also inside substitutions, as rules see it
    certain: bool = True  # false: not every command in it could be told
    reads: tuple[str, ...] | None = None  # the files it opens, if it only reads; None: it may write
    opens: tuple[str, ...] = ()  # names of files in a line that may write, besides what it writes
    writes: tuple[str, ...] = ()  # files that redirects write
    perhaps: tuple[str, ...] = ()  # written if a name in it is a folder; only rules speak of these
    names: tuple[str, ...] = ()  # in a line that may write: what is protected or secret
    code: bool = False  # an interpreter in it runs what stands in the line, or comes by a pipe
    danger: str = ""  # why nobody should run this; it is refused in every mode
    risk: RiskLevel = "low"
    reasons: tuple[str, ...] = ()
    effects: tuple[CommandEffectKind, ...] = ()  # what its commands do, as the review calls it
    always: tuple[
        PermissionPattern, ...
    ] = ()  # what a remembered yes would cover; none: it cannot be


# Finds the sensitive or outside paths that the text of a command mentions, also inside code.
#
# The gate and the review both use it, so that neither passes over a name that the other finds.
# Nothing is run or parsed: a name too many only means a question too many.


# What stands between names in words, options, redirects and pieces of code.
# Patterns are compiled with their first use, and `re` keeps them; most commands need none.
_BREAKS: Final = rb"[\s;&|<>(){}\[\]`'\"=,:@*?!#$]+"
# Programs have variables under these names, and no file is meant; nor is one by `f().cursor()`.
_VARIABLES: Final = rb"\b(?:process|import\.meta|Deno|Bun)\.env\b[\w.]*|(?<=[)\]])\.\w+(?=\()"
_ESCAPES: Final = rb"\\[abefnrtv0]"  # as `printf` and strings in code have them
_ATTACHED: Final = rb"-[A-Za-z](?=[\w.~/])"  # an option that its value follows at once

_END: Final = r"[^\s'\"`()\[\]{}<>,;:|&*?$\\]*"
_PATH: Final = (
    rf"(?<![^\s'\"`(\[{{<>=:])(?:/{_END}|(?<!=)~[\w.-]*(?:/{_END})?|\$(?:HOME\b|{{HOME}}){_END}"
    rf"|(?:[\w.-]+/)*\.\.(?:/{_END})?)(?![\w.])"
)
_URL: Final = r"(?i)\b(?!file:)[a-z][a-z0-9+.-]*://[^\s'\"`)]*"
# A string in code begins here, and nothing ends: `('/x`, `r"/x`; not the second quote of `'a'/x`.
_OPENING: Final = r"(?i)(?:^|[^\w.)\]'\"`/])[rbuf]{0,2}['\"`]$"
_NEAR: Final = 4  # characters before a path that tell whether it is a string
_SYSTEM: Final = frozenset(
    [
        "bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "libx32", "media", "mnt",
        "nix", "opt", "private", "proc", "root", "run", "sbin", "srv", "sys", "tmp", "usr", "var",
        "Applications", "Library", "System", "Users", "Volumes",
    ]
)  # fmt: skip
_FLAGS: Final = r"[a-z]{0,3}"  # after a regular expression: `/x/gi`
# Every program reads the first ones when it starts; the last ones the sandbox makes anew.
_SYSTEM_PATHS: Final = (
    r"(?:/usr(?:/local)?)?/(?:s?bin|lib(?:32|64|x32|exec)?)(?:/.*)?"
    r"|/usr(?:/local)?/(?:include|share)(?:/.*)?|(?:/var)?/tmp(?:/.*)?"
)


def sensitive_mentions(texts: Iterable[bytes]) -> tuple[bytes, ...]:
    """Returns the names in texts that are protected or secret, as they are written."""
    names = dict.fromkeys(name for text in texts for name in _mentioned_names(text))
    return tuple(name for name in names if protected_reason(name) or secret_reason(name))


def outside_mentions(code: str) -> tuple[str, ...]:
    """Returns the paths in code that may lead away: absolute ones, a home's, and those with `..`.

    The top of the disk alone is none (`'/'.join(x)`), and neither are the places of the system
    that programs read by themselves. What may as well be a regular expression is one only below
    a folder that systems have.
    """
    text = re.sub(r"\bfile://(?=/)", "", re.sub(_URL, " ", code))
    at = [(path[0], path.start()) for path in re.finditer(_PATH, text)]
    found = [path for path, start in at if _is_path(path, text[max(start - _NEAR, 0) : start])]
    return tuple(dict.fromkeys(found))


def _mentioned_names(text: bytes) -> Iterator[bytes]:
    plain = re.sub(_VARIABLES, b" ", text)
    forms = [plain]
    if b"\\" in plain:
        forms += [re.sub(_ESCAPES, b" ", plain), plain.replace(b"\\", b"")]
    for form in forms:
        for word in re.split(_BREAKS, form):
            if word:
                yield word
                yield from [word[2:]] if re.match(_ATTACHED, word) else []


def _is_path(path: str, before: str) -> bool:
    is_string = re.search(_OPENING, before) is not None
    if not path.startswith("/"):
        return "/" in path or path.startswith("$") or is_string
    whole = "/" + normpath(path).lstrip("/")
    parts = whole[1:].split("/")
    if whole == "/" or re.fullmatch(_SYSTEM_PATHS, whole):
        return False
    return (
        is_string or parts[0] in _SYSTEM or (len(parts) > 1 and not re.fullmatch(_FLAGS, parts[-1]))
    )


# Finds the protected and secret files that a command of a plan names.


def sensitive_names(op: RunCommand, line: CommandAnalysis | None = None) -> tuple[bytes, ...]:
    """Returns the names in a command that are protected or secret, as far as its text tells."""
    if op.profile == "commit":
        return ()  # it has one fixed form; what it commits stands in the rest of the plan
    texts = [*op.argv, op.script, *op.undo, *(value for _, value in op.env)]
    told = line.names if line is not None else ()
    found = [
        *sensitive_mentions(texts),
        *(name.encode("utf-8", "surrogateescape") for name in told),
    ]
    return tuple(dict.fromkeys(found))


def masked_names(names: Iterable[bytes]) -> tuple[list[bytes], list[bytes]]:
    """Returns those that the sandbox masks in any case, and those that it masks by content."""
    secrets = [name for name in names if secret_reason(name)]
    perhaps = [name for name in secrets if _by_content(name)]
    return [name for name in secrets if name not in perhaps], perhaps


def _by_content(path: bytes) -> bool:
    folder, _, name = path.rpartition(b"/")
    found = secret_file(folder.rpartition(b"/")[2], name)
    return found is not None and bool(found.marks)
