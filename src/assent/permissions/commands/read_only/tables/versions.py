"""Tools that may tell their version, in exactly these forms; all else about them is refused.

Shims and wrappers obey files of the repository, so none of them runs without a sandbox.
"""

from assent.core.errors import Refused
from assent.core.shell.parser import ShellWord
from assent.permissions.commands.read_only.alternatives import unlisted_command_reason
from assent.permissions.commands.read_only.spec import ParsedArguments, ReadOnlyCommandSpec

_LONG = "--version"
_FORMS: tuple[tuple[str, tuple[str, ...]], ...] = (  # names, and what may stand behind one
    (
        "gcc g++ cc c++ clang clang++ clangd clang-format clang-tidy ld ar as gdb lldb make gmake"
        " ninja meson autoconf automake pkg-config bazel buck2 ccache cmake ctest nvcc swift"
        " zig bash zsh fish sh dash tmux curl wget psql pg_dump mysql mariadb mongosh redis-cli"
        " redis-server docker docker-compose podman buildah skopeo minikube kind packer vagrant"
        " ansible ansible-playbook aws gcloud az gh glab hub svn hg bzr jj protoc sqlfluff"
        " shellcheck shfmt hadolint yamllint actionlint pre-commit R Rscript julia ghc ocaml opam"
        " dune elixir mix stack cabal dart flutter nim crystal rebar3 gfortran valgrind perf",
        (_LONG,),
    ),
    ("python python2 python3 pypy pypy3", (_LONG, "-V", "-VV")),
    (" ".join(f"python3.{minor}" for minor in range(8, 16)), (_LONG, "-V", "-VV")),
    ("pip pip2 pip3 pipx conda mamba micromamba uv uvx", (_LONG, "-V")),
    (
        "poetry pdm hatch flit tox nox pytest coverage ruff mypy black isort flake8 pylint"
        " pyright basedpyright bandit ipython jupyter cython gunicorn uvicorn celery",
        (_LONG, "-V"),
    ),
    ("node nodejs npm npx pnpm yarn bun tsx ts-node", (_LONG, "-v")),
    ("deno", (_LONG, "-V", "-v")),
    (
        "tsc eslint prettier jest vitest vite webpack rollup esbuild biome stylelint mocha"
        " playwright cypress next ng vue nx turbo lerna gulp grunt",
        (_LONG, "-v"),
    ),
    ("cargo rustup rustfmt cargo-clippy wasm-pack cross just", (_LONG, "-V")),
    ("rustc", (_LONG, "-V", "-vV", "--version --verbose")),
    ("go", ("version",)),
    ("gofmt golangci-lint staticcheck", (_LONG, "version")),
    ("java javac jshell", (_LONG, "-version")),
    ("mvn gradle ant sbt", (_LONG, "-version", "-v")),
    ("kotlin kotlinc scala scalac groovy", ("-version", _LONG)),
    ("ruby gem bundle bundler rake rails rspec rubocop jekyll", (_LONG, "-v")),
    ("php composer phpunit phpstan", (_LONG, "-V", "-v")),
    ("perl", (_LONG, "-v")),
    ("lua luajit luarocks", (_LONG, "-v")),
    ("sqlite3", (_LONG, "-version")),
    ("ssh", ("-V",)),
    ("openssl", ("version", "version -a")),
    ("kubectl", ("version --client", "version --client=true")),
    ("helm terraform tofu pulumi", ("version", _LONG)),
    ("dotnet", (_LONG, "--list-sdks", "--list-runtimes")),
    ("vim nvim emacs nano", (_LONG,)),
)


class _FixedForms:
    """Takes the words of a command only if they are one of a few forms."""

    def __init__(self, name: str, forms: tuple[str, ...]) -> None:
        self._name = name
        self._forms = forms
        self._split = [form.split() for form in forms]

    def __call__(self, words: tuple[ShellWord, ...]) -> ParsedArguments:
        given = [word.text for word in words]
        if given not in self._split or any(word.pattern for word in words):
            raise Refused(
                f"{unlisted_command_reason(self._name)} Only `{self._name} {self._forms[0]}` is."
            )
        return ParsedArguments(operands=words)


def _spec(name: str, forms: tuple[str, ...]) -> ReadOnlyCommandSpec:
    return ReadOnlyCommandSpec(
        name,
        runs=tuple(f"{name} {form}" for form in forms),
        refused=(name, f"{name} x", f"{name} {forms[0]} x", f"{name} x {forms[0]}"),
        raw=_FixedForms(name, forms),
        own=True,
        obeys=True,
        opens=False,
    )


VERSION_COMMANDS = tuple(_spec(name, forms) for names, forms in _FORMS for name in names.split())
