"""Commands that search: rg and grep in what files hold, find and fd in their names."""

from assent.permissions.commands.read_only.languages.find import read_find
from assent.permissions.commands.read_only.spec import OperandSpec, OptionSpec, ReadOnlyCommandSpec

RG = ReadOnlyCommandSpec(
    "rg",
    OptionSpec.of(
        "sbcFlLivxnNUoPpqSauVHwI0h. --binary --block-buffered --byte-offset --case-sensitive "
        "--column --count --count-matches --crlf --debug --files --files-with-matches "
        "--files-without-match --fixed-strings --follow --glob-case-insensitive --heading "
        "--hidden --ignore-case --ignore-file-case-insensitive --include-zero --invert-match "
        "--json --line-buffered --line-number --line-regexp --max-columns-preview --mmap "
        "--multiline --multiline-dotall --no-config --no-filename --no-heading --no-ignore "
        "--no-ignore-dot --no-ignore-exclude --no-ignore-files --no-ignore-global "
        "--no-ignore-messages --no-ignore-parent --no-ignore-vcs --no-line-number --no-messages "
        "--no-mmap --no-pcre2-unicode --no-require-git --no-unicode --null --null-data "
        "--one-file-system --only-matching --passthru --passthrough --pcre2 --pcre2-version "
        "--pretty --quiet --smart-case --stats --text --trim --type-list --unrestricted "
        "--version --vimgrep --with-filename --word-regexp --help --auto-hybrid-regex --trace "
        "--no-column --no-hidden --no-follow --no-json --no-multiline --no-trim --no-text "
        "--no-stats --no-context-separator --stop-on-nonmatch --ignore --ignore-vcs --unicode",
        "ABCEMTdegjmrt --after-context --before-context --color --colors --context "
        "--context-separator --dfa-size-limit --encoding --engine --field-context-separator "
        "--field-match-separator --glob --iglob --max-columns --max-count --max-depth "
        "--max-filesize --path-separator --regex-size-limit --regexp --replace --sort --sortr "
        "--threads --type --type-add --type-clear --type-not",
        "f --file --ignore-file",
    ),
    OperandSpec(
        texts=1,
        texts_unless=(
            "-e", "--regexp", "-f", "--file", "--files", "--type-list", "--pcre2-version",
            "-V", "--version", "-h", "--help",
        ),
    ),
    runs=(
        "rg Store",
        "rg -n 'def \\w+' src tests",
        "rg --files -g '*.py' src",
        "rg -tpy -A3 -B 1 main",
        "rg -e TODO -e FIXME",
        "rg --hidden -g '!.git' -uu needle .",
        "rg -- '-x' README.md",
        "rg --color=never --sort path -l import",
    ),
    refused=(
        "rg --pre run.sh x",
        "rg --pre=run.sh x",
        "rg x --pre run.sh",
        "rg --pr=run.sh x",
        "rg --pre-glob '*.z' x",
        "rg --hostname-bin=run.sh x",
        "rg --hostname-bin run.sh x",
        "rg -z x",
        "rg -nz x",
        "rg --search-zip x",
        "rg --hyperlink-format=default x",
        "rg -g *.py x",
    ),
    adds=("--no-config",),
    confined=("-L", "--follow"),
    always_descends=True,
)  # fmt: skip


GREP = OptionSpec.of(
    "EFGPiwxzsvVbnHhoqaIrRLlcTZUy --extended-regexp --fixed-strings --basic-regexp "
    "--perl-regexp --ignore-case --no-ignore-case --word-regexp --line-regexp --null-data "
    "--no-messages --invert-match --version --help --byte-offset --line-number "
    "--line-buffered --with-filename --no-filename --only-matching --quiet --silent --text "
    "--recursive --dereference-recursive --files-without-match --files-with-matches "
    "--count --initial-tab --null --no-group-separator --binary",
    "emdABC --regexp --max-count --label --binary-files --directories --include --exclude "
    "--exclude-dir --before-context --after-context --context --group-separator",
    "f --file --exclude-from",
    "--color --colour",
    number=True,
)


def _grep(name: str) -> ReadOnlyCommandSpec:
    return ReadOnlyCommandSpec(
        name,
        GREP,
        OperandSpec(
            texts=1,
            texts_unless=("-e", "--regexp", "-f", "--file", "-V", "--version", "--help"),
        ),
        runs=(
            f"{name} -rn TODO src",
            f"{name} -C3 main *.py",
            f"{name} -2 x y",
            f"{name} -e one -e two x",
            f"{name} -rnI --include='*.py' --exclude-dir=.git x .",
            f"{name} --color=never -c '' x",
            f"{name} -f patterns x",
            f"{name} -rn x . --include=*.py",
        ),
        refused=(
            f"{name} --no-such x y",
            f"{name} --recursiv x",
            f"{name} -D read x y",
            f"{name} --devices=read x y",
            f"{name} -X awk x y",
            f"{name} --exclude-from=* x y",
            f"{name} -e a* x",
            f"{name} a* x",
        ),
        confined=("-R", "--dereference-recursive"),
        descends=("-r", "--recursive", "-R", "--dereference-recursive", "-d", "--directories"),
    )


FIND = ReadOnlyCommandSpec(
    "find",
    raw=read_find,
    runs=(
        "find",
        "find . -name '*.py' -type f",
        "find src tests -name '*.py' -o -name '*.js'",
        "find . \\( -name a -o -name b \\) ! -path './.git/*' -print0",
        "find . -path ./.git -prune -o -type f -printf '%f\\n'",
        "find -L */ -maxdepth 1 -newermt 2024-01-01 -newer x",
        "find . -not -empty -size +1k -mtime -7 -perm -u+x -ls",
    ),
    refused=(
        "find . -delete",
        "find . -exec rm '{}' \\;",
        "find . -execdir rm '{}' +",
        "find . -ok rm \\;",
        "find . -okdir rm \\;",
        "find . -fprint out",
        "find . -fprint0 out",
        "find . -fprintf out %p",
        "find . -fls out",
        "find . -name a -o -delete",
        "find . -false , -delete",
        "find -files0-from list",
        "find -D exec .",
        "find . -name *.py",
        "find . -name a src",
        "find . -name",
    ),
    opens=False,
    confined=("-L", "-H", "-follow"),
)

FD = ReadOnlyCommandSpec(
    "fd",
    OptionSpec.of(
        "HIusigFaLp01qhV --hidden --no-hidden --no-ignore --ignore --no-ignore-vcs "
        "--no-ignore-parent --no-global-ignore-file --no-require-git --unrestricted "
        "--case-sensitive --ignore-case --glob --regex --fixed-strings --literal --absolute-path "
        "--follow --full-path --print0 --prune --quiet --has-results --show-errors "
        "--one-file-system --mount --xdev --help --version",
        "dEteSocj --max-depth --maxdepth --min-depth --exact-depth --exclude --type --extension "
        "--size --changed-within --changed-before --newer --older --owner --color --threads "
        "--max-results --path-separator --and --format",
        "--base-directory --search-path --ignore-file",
        "--strip-cwd-prefix",
    ),
    OperandSpec(texts=1),
    runs=(
        "fd main",
        "fd -e py",
        "fd -t f . src",
        "fd -HI --exclude .git -d2 test",
        "fd -g '*.json' --search-path src",
    ),
    refused=(
        "fd -x rm",
        "fd -X rm",
        "fd . -x rm",
        "fd -HIx rm",
        "fd -xrm",
        "fd --exec rm",
        "fd --exec=rm",
        "fd --exec-batch rm",
        "fd --exe rm",
        "fd -l",
        "fd -al x",
        "fd --list-details",
        "fd -g *.json",
    ),
    programs=("fdfind",),
    opens=False,
    confined=("-L", "--follow"),
)

SEARCH_COMMANDS = (RG, *(_grep(name) for name in ("grep", "egrep", "fgrep")), FIND, FD)
