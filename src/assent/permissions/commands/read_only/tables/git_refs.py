"""git: commands that name things: branches, tags, remotes, commits, notes."""

from assent.permissions.commands.read_only.spec import OperandSpec, OptionSpec, ReadOnlyCommandSpec
from assent.permissions.commands.read_only.tables.git_rules import (
    lists_branches,
    lists_tags,
    no_programs,
    offline,
)

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
