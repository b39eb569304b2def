"""Folders of programs: the system's, and toolchains that people install themselves."""

import os
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import msgspec

from assent.core.text.glob_pattern import FNMATCH, glob_matches
from assent.sandbox.profile.file_system import read_small_text

_FEW: Final = 4  # folders whose lists are remembered
_MANY: Final = 1000  # names that are

# System paths: the folders that every program needs to start, and nothing private.


ROOTS: Final = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
    "/nix/store", "/gnu/store", "/run/current-system",
)  # fmt: skip

# By name, never the whole: root's payload has uid 0 and could read /etc/shadow.
ETC: Final = (
    # users, hosts and names of things
    "passwd", "group", "nsswitch.conf", "hostname", "hosts", "host.conf", "networks", "services",
    "protocols", "rpc", "ethertypes", "shells", "login.defs",
    # the loader, and links that select programs
    "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ld-musl-*.path", "alternatives", "static",
    "profiles/per-user",
    # which system this is, where and in which language
    "os-release", "lsb-release", "debian_version", "*-release", "issue", "localtime", "timezone",
    "locale.alias", "locale.conf", "locale.gen", "default/locale", "inputrc", "terminfo",
    # kinds of files
    "mime.types", "magic", "magic.mime", "fonts", "papersize",
    # public certificates and what the libraries that use them expect
    "ssl/certs", "ssl/cert.pem", "ssl/openssl.cnf", "ca-certificates", "ca-certificates.conf",
    "pki/tls/certs", "pki/tls/cert.pem", "pki/tls/openssl.cnf", "pki/ca-trust/extracted",
    "pki/java", "crypto-policies",
    # languages
    "java-*-openjdk", "python3", "python3.*", "perl",
)  # fmt: skip

# Programs found here are the machine's. No sbin: nothing there only reads.
PROGRAMS: Final = (b"/usr/local/bin", b"/usr/bin", b"/bin", b"/run/current-system/sw/bin")


def system_paths(etc: str = "/etc") -> list[bytes]:
    """Lists what is shown of the system, as far as it may exist."""
    found = [os.fsencode(f"{etc}/{name}") for name in _names(etc) if _fits(name)]
    return [*_listed(etc), *found]


@lru_cache(_FEW)
def _listed(etc: str) -> tuple[bytes, ...]:
    return tuple(map(os.fsencode, (*ROOTS, *[f"{etc}/{name}" for name in ETC if "*" not in name])))


@lru_cache(_MANY)
def _fits(name: str) -> bool:
    return any(glob_matches(name, pattern, FNMATCH) for pattern in ETC if "*" in pattern)


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


class Toolchain(msgspec.Struct, frozen=True):
    """Folders of programs and libraries. A variable may name another place: `NAME/below`."""

    name: str
    home: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    absolute: tuple[str, ...] = ()


_CONDAS: Final = ("miniconda3", "anaconda3", "miniforge3", "mambaforge", "miniconda", "anaconda")

# Where credentials are next to the programs (cargo, uv, rye, cabal), only subfolders are named.
TOOLCHAINS: Final = (
    Toolchain("user programs", (".local/bin", "bin", ".local/lib")),
    Toolchain("pyenv", (".pyenv",), ("PYENV_ROOT",)),
    Toolchain(
        "uv",
        (".local/share/uv/python", ".local/share/uv/tools"),
        ("UV_PYTHON_INSTALL_DIR", "UV_TOOL_DIR", "UV_TOOL_BIN_DIR", "UV_INSTALL_DIR"),
    ),
    Toolchain("pipx", (".local/share/pipx", ".local/pipx"), ("PIPX_HOME", "PIPX_BIN_DIR")),
    Toolchain("poetry", (".local/share/pypoetry/venv",)),
    Toolchain("hatch", (".local/share/hatch/pythons",)),
    Toolchain("rye", (".rye/py", ".rye/shims", ".rye/tools", ".rye/self")),
    Toolchain(
        "conda",
        (*_CONDAS, *(f".{name}" for name in _CONDAS), "micromamba", ".conda/envs"),
        ("MAMBA_ROOT_PREFIX", "CONDA_ROOT"),
        ("/opt/conda", *(f"/opt/{name}" for name in _CONDAS)),
    ),
    Toolchain("pixi", (".pixi/bin", ".pixi/envs"), ("PIXI_HOME/bin", "PIXI_HOME/envs")),
    Toolchain("nvm", (".nvm", ".config/nvm"), ("NVM_DIR",)),
    Toolchain("fnm", (".local/share/fnm", ".fnm"), ("FNM_DIR",)),
    Toolchain("volta", (".volta",), ("VOLTA_HOME",)),
    Toolchain("nodenv", (".nodenv",), ("NODENV_ROOT",)),
    Toolchain("n", ("n",), ("N_PREFIX/n", "N_PREFIX/bin")),
    Toolchain(
        "npm, pnpm and yarn",
        (".npm-global", ".npm-packages", ".local/share/pnpm", ".yarn/bin",
         ".config/yarn/global/node_modules"),
        ("PNPM_HOME",),
    ),
    Toolchain("deno", (".deno/bin",), ("DENO_INSTALL/bin",)),
    Toolchain("bun", (".bun/bin",), ("BUN_INSTALL/bin",)),
    Toolchain("asdf", (".asdf",), ("ASDF_DATA_DIR", "ASDF_DIR")),
    Toolchain(
        "mise",
        (".local/share/mise/installs", ".local/share/mise/shims", ".local/share/rtx/installs"),
        ("MISE_DATA_DIR/installs", "MISE_DATA_DIR/shims"),
    ),
    Toolchain("proto", (".proto/bin", ".proto/shims", ".proto/tools"), ("PROTO_HOME/tools",)),
    Toolchain("rust", (".rustup", ".cargo/bin"), ("RUSTUP_HOME", "CARGO_HOME/bin")),
    Toolchain(
        "go",
        ("go/bin", "sdk", ".goenv", ".go", ".local/go"),
        ("GOROOT", "GOBIN", "GOPATH/bin", "GOENV_ROOT"),
        ("/opt/go",),
    ),
    Toolchain("ruby", (".rbenv", ".rvm", ".rubies"), ("RBENV_ROOT", "rvm_path"), ("/opt/rubies",)),
    Toolchain(
        "java", (".jenv", ".sdkman/candidates", ".jdks"),
        ("JENV_ROOT", "SDKMAN_DIR/candidates", "JAVA_HOME"),
    ),
    Toolchain("haskell", (".ghcup", ".cabal/bin", ".stack/programs")),
    Toolchain("dotnet", (".dotnet",), ("DOTNET_ROOT",)),
    Toolchain("ocaml", (".opam",), ("OPAMROOT",)),
    Toolchain("julia", (".juliaup", ".julia/juliaup")),
    Toolchain("lean", (".elan",), ("ELAN_HOME",)),
    Toolchain("nim", (".nimble/bin", ".choosenim/toolchains")),
    Toolchain("swift", (".local/share/swiftly", ".swiftly"), ("SWIFTLY_HOME_DIR",)),
    Toolchain("zig", (".zvm",)),
    Toolchain("dart", (".pub-cache/bin",)),
    Toolchain("php", (".composer/vendor", ".config/composer/vendor", ".phpenv")),
    Toolchain("perl", (".plenv", "perl5"), ("PLENV_ROOT",)),
    Toolchain("terraform", (".tfenv", ".tgenv", ".tenv")),
    Toolchain("aqua", (".local/share/aquaproj-aqua",), ("AQUA_ROOT_DIR",)),
    Toolchain(
        "homebrew", (".linuxbrew",), ("HOMEBREW_PREFIX",),
        ("/home/linuxbrew/.linuxbrew", "/opt/homebrew"),
    ),
    Toolchain("nix", (".nix-profile", ".local/state/nix/profile", ".guix-profile")),
)  # fmt: skip


@lru_cache(_FEW)
def known_folders(home: bytes) -> tuple[bytes, ...]:
    """Lists where toolchains usually are; whether one exists is not checked."""
    found: list[bytes] = []
    for row in TOOLCHAINS:
        found += [home.rstrip(b"/") + b"/" + os.fsencode(below) for below in row.home]
        found += [os.fsencode(path) for path in row.absolute]
    return tuple(found)


def named_folders(environment: Mapping[str, str]) -> list[bytes]:
    """Lists where variables say that toolchains are; whether that is safe is not checked."""
    return [
        path for row in TOOLCHAINS for name in row.variables for path in _named(name, environment)
    ]


def path_folders(environment: Mapping[str, str]) -> list[bytes]:
    """Lists the folders of PATH in order; an empty or relative one means the current folder."""
    entries = os.fsencode(environment.get("PATH", "")).split(b":")
    return [entry.rstrip(b"/") for entry in entries if entry.startswith(b"/")]


def active_environments(environment: Mapping[str, str]) -> list[bytes]:
    """Lists the virtual environments in use, if they look like real ones."""
    venvs = [
        path
        for path in _named("VIRTUAL_ENV", environment)
        if read_small_text(path + b"/pyvenv.cfg")
    ]
    condas = _named("CONDA_PREFIX", environment)
    return venvs + [path for path in condas if os.path.isdir(path + b"/conda-meta")]


def base_programs(venv: bytes) -> bytes | None:
    """Returns the folder of the Python that a virtual environment was made with."""
    for line in read_small_text(venv + b"/pyvenv.cfg").splitlines():
        name, _, value = line.partition(b"=")
        if name.strip().lower() == b"home" and value.strip().startswith(b"/"):
            return value.strip().rstrip(b"/")
    return None


def is_python(programs: bytes) -> bool:
    """Tells whether a folder of programs belongs to an installed Python: `lib` is next to it."""
    try:
        names = os.listdir(os.path.dirname(programs) + b"/lib")
    except OSError:
        return False
    return any(name.startswith(b"python3") for name in names)


def _named(variable: str, environment: Mapping[str, str]) -> list[bytes]:
    name, _, below = variable.partition("/")
    value = environment.get(name, "").rstrip("/")
    if not value.startswith("/"):
        return []
    return [os.fsencode(f"{value}/{below}" if below else value)]
