"""git: commands about what is stored: files, objects, attributes, and searches in them."""

from assent.permissions.commands.read_only.spec import OperandSpec, OptionSpec, ReadOnlyCommandSpec
from assent.permissions.commands.read_only.tables.git_rules import no_programs

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
