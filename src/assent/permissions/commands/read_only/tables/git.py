"""git: the read-only subcommands. The sandbox and a hardened environment contain the rest."""

from collections.abc import Mapping

import msgspec

from assent.core.errors import Refused
from assent.permissions.commands.read_only.git_environment import (
    GIT_CONFIG_ENVIRONMENT,
    GIT_ENVIRONMENT,
)
from assent.permissions.commands.read_only.spec import (
    OperandSpec,
    OptionSpec,
    ParsedArguments,
    ReadOnlyCommandSpec,
)
from assent.permissions.commands.read_only.tables.git_history import (
    GIT_DIFF_COMMANDS,
    GIT_HISTORY_COMMANDS,
)
from assent.permissions.commands.read_only.tables.git_options import (
    lists_branches,
    lists_tags,
    no_programs,
    offline,
    reads_config,
)

# git: commands about what is stored: files, objects, attributes, and searches in them.


GIT_CONTENT_COMMANDS = {
    "grep": ReadOnlyCommandSpec(
        "git grep",
        OptionSpec.of(
            flags=(
                "viwaIrEGFPnhHlLzocpWq --cached --no-index --untracked --exclude-standard"
                " --no-exclude-standard --recurse-submodules --invert-match --ignore-case"
                " --word-regexp --text --no-textconv --recursive --no-recursive"
                " --extended-regexp --basic-regexp --fixed-strings --perl-regexp --line-number"
                " --column --full-name --files-with-matches --name-only --files-without-match"
                " --null --only-matching --count --no-color --break --heading --show-function"
                " --function-context --and --or --not --quiet --all-match"
            ),
            values=(
                "eABCm --max-depth --context --before-context --after-context --threads --max-count"
            ),
            files="f",
            maybe="--color",
            number=True,
        ),
        OperandSpec(texts=1, texts_unless=("-e", "-f")),
        runs=(
            "git grep -n TODO",
            "git grep -in -A3 -e a --and -e b HEAD~2 -- src *.py",
            "git grep -lE 'a|b' -- '*.py'",
            "git grep --no-index -C2 x dir",
            "git grep -e a --and '(' -e b --or -e c ')'",
        ),
        refused=(
            "git grep -O x",
            "git grep -nO x",
            "git grep -Oless x",
            "git grep --open-files-in-pager=sh x",
            "git grep --open-files-in-pager x",
            "git grep --textconv x",
            "git grep --output=x y",
            "git grep --open x",
        ),
        adds=("--no-textconv",),
    ),
    "ls-files": ReadOnlyCommandSpec(
        "git ls-files",
        OptionSpec.of(
            flags=(
                "ztvfcdmoisku --cached --deleted --modified --others --ignored --stage --killed"
                " --directory --no-empty-directory --eol --empty-directory --unmerged"
                " --resolve-undo --exclude-standard --full-name --recurse-submodules"
                " --error-unmatch --debug --deduplicate --sparse"
            ),
            values="x --exclude --exclude-per-directory --with-tree --format",
            files="X --exclude-from",
            maybe="--abbrev",
        ),
        runs=(
            "git ls-files",
            "git ls-files -o --exclude-standard",
            "git ls-files -s -- src",
            "git ls-files *.py",
            "git ls-files -x '*.o' -m --error-unmatch a",
        ),
        refused=("git ls-files --output=x", "git ls-files -O", "git ls-remote"),
    ),
    "ls-tree": ReadOnlyCommandSpec(
        "git ls-tree",
        OptionSpec.of(
            "drtzl --long --name-only --name-status --object-only --full-name --full-tree",
            "--format",
            maybe="--abbrev",
        ),
        runs=(
            "git ls-tree HEAD",
            "git ls-tree -r --name-only HEAD src/",
            "git ls-tree -l HEAD:src",
        ),
        refused=("git ls-tree --output=x HEAD", "git ls-tree -o HEAD"),
    ),
    "cat-file": ReadOnlyCommandSpec(
        "git cat-file",
        OptionSpec.of(
            flags=(
                "epts --allow-unknown-type --use-mailmap --no-use-mailmap --mailmap"
                " --no-mailmap zZ --batch-all-objects --buffer --follow-symlinks --unordered"
            ),
            maybe="--batch --batch-check",
        ),
        OperandSpec(most=2, files=False),
        runs=(
            "git cat-file -p HEAD:a.py",
            "git cat-file -t HEAD",
            "git cat-file blob HEAD:a",
            "git cat-file --batch-check='%(objectname)' --batch-all-objects",
        ),
        refused=(
            "git cat-file --textconv HEAD:a",
            "git cat-file --filters HEAD:a",
            "git cat-file --batch-command",
            "git cat-file --path=a --filters HEAD",
        ),
        rule=no_programs,
    ),
    "check-ignore": ReadOnlyCommandSpec(
        "git check-ignore",
        OptionSpec.of("qvzn --quiet --verbose --stdin --non-matching --no-index"),
        runs=("git check-ignore -v a b/c", "git check-ignore --no-index *"),
        refused=("git check-ignore --output=x", "git check-ignore -o a"),
    ),
    "check-attr": ReadOnlyCommandSpec(
        "git check-attr",
        OptionSpec.of("az --all --cached --stdin", "--source"),
        runs=("git check-attr -a a.py", "git check-attr text diff -- a"),
        refused=("git check-attr --output=x a", "git check-attr -o a"),
    ),
    "count-objects": ReadOnlyCommandSpec(
        "git count-objects",
        OptionSpec.of("vH --verbose --human-readable"),
        OperandSpec(most=0),
        runs=("git count-objects", "git count-objects -vH"),
        refused=("git count-objects x", "git count-objects --prune", "git gc"),
    ),
}


# git: commands that name things: branches, tags, remotes, commits, notes.


# Each of these also takes the word after it; as an operand it is checked the same way.
_FILTERS = "--contains --no-contains --merged --no-merged --points-at"
_LISTS = OptionSpec.of(
    "i --ignore-case --no-column --no-color --omit-empty",
    "--sort --format",
    maybe=f"{_FILTERS} --column --color",
)

_LISTED = {
    "branch": ReadOnlyCommandSpec(
        "git branch",
        _LISTS
        | OptionSpec.of(
            "vqarl --verbose --quiet --remotes --all --list --show-current --no-abbrev",
            maybe="--abbrev",
        ),
        runs=(
            "git branch",
            "git branch -avv",
            "git branch --show-current",
            "git branch --list 'fix/*'",
            "git branch --contains HEAD~3",
            "git branch -r --merged main --sort=-committerdate",
            "git branch --format='%(refname:short)'",
        ),
        refused=(
            "git branch topic",
            "git branch -v topic",
            "git branch -l topic",
            "git branch -a topic",
            "git branch -d topic",
            "git branch -D topic --list",
            "git branch -m a b",
            "git branch --edit-description",
            "git branch --set-upstream-to=a",
            "git branch -u a --list",
            "git branch --format='%(signature:grade)'",
        ),
        rule=lists_branches,
    ),
    "tag": ReadOnlyCommandSpec(
        "git tag",
        _LISTS | OptionSpec.of("l --list", maybe="n"),
        runs=(
            "git tag",
            "git tag -l 'v1.*'",
            "git tag -n3",
            "git tag --list --sort=-v:refname v*",
            "git tag --contains HEAD",
            "git tag --merged main",
        ),
        refused=(
            "git tag v1",
            "git tag -a v1",
            "git tag -d v1",
            "git tag -m x v1 -l",
            "git tag -v v1",
            "git tag --sort=taggerdate v1",
            "git tag -s v1",
            "git tag -l --format='%(*signature)'",
        ),
        rule=lists_tags,
    ),
    "for-each-ref": ReadOnlyCommandSpec(
        "git for-each-ref",
        _LISTS
        | OptionSpec.of(
            "sp --shell --perl --python --tcl --include-root-refs",
            "--count --exclude --start-after",
        ),
        runs=(
            "git for-each-ref",
            "git for-each-ref --format='%(refname) %(contents:signature)' refs/heads",
            "git for-each-ref --count=5 --sort=-committerdate refs/heads/ --no-merged main",
        ),
        refused=(
            "git for-each-ref --stdin",
            "git for-each-ref --format='%(signature)'",
            "git for-each-ref --sort=-signature:key",
            "git for-each-repo --config=a b",
        ),
        rule=no_programs,
    ),
    "show-ref": ReadOnlyCommandSpec(
        "git show-ref",
        OptionSpec.of(
            "dq --tags --heads --branches --verify --exists --head --dereference --quiet",
            maybe="s --hash --abbrev",
        ),
        runs=("git show-ref", "git show-ref --verify -q refs/heads/main", "git show-ref --tags -d"),
        refused=("git show-ref --output=x", "git show-ref -D", "git update-ref a b"),
    ),
    "symbolic-ref": ReadOnlyCommandSpec(
        "git symbolic-ref",
        OptionSpec.of("q --quiet --short --recurse --no-recurse"),
        OperandSpec(least=1, most=1, files=False),
        runs=("git symbolic-ref --short HEAD", "git symbolic-ref -q refs/remotes/origin/HEAD"),
        refused=(
            "git symbolic-ref HEAD refs/heads/x",
            "git symbolic-ref -d HEAD",
            "git symbolic-ref -m x HEAD",
        ),
    ),
}

_NAMED = {
    "rev-parse": ReadOnlyCommandSpec(
        "git rev-parse",
        OptionSpec.of(
            flags=(
                "q --sq-quote --revs-only --no-revs --flags --no-flags --verify --quiet --sq"
                " --not --symbolic --symbolic-full-name --all --local-env-vars --git-dir"
                " --git-common-dir --show-toplevel --show-superproject-working-tree"
                " --shared-index-path --absolute-git-dir --is-inside-git-dir --show-cdup"
                " --is-inside-work-tree --is-bare-repository --is-shallow-repository"
                " --show-prefix --show-ref-format"
            ),
            values=(
                "--default --prefix --glob --exclude --exclude-hidden --disambiguate"
                " --path-format --since --after --until --before --git-path --resolve-git-dir"
            ),
            maybe="--short --abbrev-ref --branches --tags --remotes --show-object-format",
        ),
        runs=(
            "git rev-parse HEAD",
            "git rev-parse --abbrev-ref HEAD",
            "git rev-parse --short=8 --verify -q main^{commit}",
            "git rev-parse --show-toplevel --git-dir",
            "git rev-parse --abbrev-ref --symbolic-full-name @{u}",
        ),
        refused=("git rev-parse --parseopt", "git rev-parse --output=x", "git rev-parse -o"),
    ),
    "name-rev": ReadOnlyCommandSpec(
        "git name-rev",
        OptionSpec.of(
            "--name-only --tags --no-undefined --undefined --always --all --annotate-stdin",
            "--refs --exclude",
        ),
        OperandSpec(files=False),
        runs=("git name-rev HEAD", "git name-rev --tags --name-only HEAD~2"),
        refused=("git name-rev --output=x HEAD", "git name-rev -f HEAD"),
    ),
    "describe": ReadOnlyCommandSpec(
        "git describe",
        OptionSpec.of(
            "--contains --debug --all --tags --long --first-parent --exact-match --always",
            "--candidates --match --exclude",
            maybe="--abbrev",
        ),
        OperandSpec(files=False),
        runs=(
            "git describe",
            "git describe --tags --always --abbrev=7 HEAD",
            "git describe --match 'v*'",
        ),
        refused=("git describe --dirty", "git describe --broken=x", "git describe --output=x"),
    ),
    "remote": ReadOnlyCommandSpec(
        "git remote",
        OptionSpec.of("v --verbose"),
        OperandSpec(most=0),
        runs=("git remote", "git remote -v"),
        refused=(
            "git remote add a b",
            "git remote prune origin",
            "git remote update",
            "git remote rm a",
        ),
        children={
            "get-url": ReadOnlyCommandSpec(
                "git remote get-url",
                OptionSpec.of("--push --all"),
                OperandSpec(most=1, files=False),
                runs=("git remote get-url origin", "git remote get-url --all origin"),
                refused=("git remote get-url --add a b", "git remote get-url a b"),
            ),
            "show": ReadOnlyCommandSpec(
                "git remote show",
                OptionSpec.of("n"),
                OperandSpec(files=False),
                runs=(
                    "git remote show",
                    "git remote show -n origin",
                    "git remote -v show -n origin",
                ),
                refused=("git remote show origin", "git remote set-url a b"),
                rule=offline,
            ),
        },
    ),
    "worktree": ReadOnlyCommandSpec(
        "git worktree",
        operands=OperandSpec(most=0),
        refused=(
            "git worktree",
            "git worktree add x",
            "git worktree prune",
            "git worktree remove x",
        ),
        alone=False,
        children={
            "list": ReadOnlyCommandSpec(
                "git worktree list",
                OptionSpec.of("vz --porcelain --verbose", "--expire"),
                OperandSpec(most=0),
                runs=("git worktree list", "git worktree list --porcelain -z"),
                refused=("git worktree list x", "git worktree list -f"),
            )
        },
    ),
    "notes": ReadOnlyCommandSpec(
        "git notes",
        OptionSpec.of(values="--ref"),
        OperandSpec(most=0),
        runs=("git notes", "git notes --ref=review"),
        refused=(
            "git notes add",
            "git notes edit",
            "git notes prune",
            "git notes copy a b",
            "git notes -f",
        ),
        children={
            name: ReadOnlyCommandSpec(
                f"git notes {name}",
                operands=OperandSpec(most=1, files=False),
                runs=(f"git notes {name}", f"git notes --ref review {name} HEAD"),
                refused=(f"git notes {name} -f", f"git notes {name} a b", "git notes remove"),
            )
            for name in ("list", "show")
        },
    ),
}

GIT_REF_COMMANDS = {**_LISTED, **_NAMED}


# git: commands about the repository itself: configuration, submodules, version.


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


def _only_version(found: ParsedArguments) -> None:
    if not found.has("--version"):
        raise Refused("`git` needs a subcommand.")


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
        **GIT_HISTORY_COMMANDS,
        **GIT_DIFF_COMMANDS,
        **GIT_REF_COMMANDS,
        **GIT_CONTENT_COMMANDS,
        **GIT_SETTING_COMMANDS,
    },
)

GIT_COMMANDS = (_hardened(_GIT),)
