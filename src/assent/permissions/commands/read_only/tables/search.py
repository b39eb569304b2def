"""Commands that search: rg and grep in the content of files, find and fd in their names."""

import re

from assent.core.errors import Refused
from assent.core.shell.parser import ShellWord
from assent.permissions.commands.read_only.spec import (
    OperandSpec,
    OptionSpec,
    ParsedArguments,
    ReadOnlyCommandSpec,
    words_in,
)

# find: its starting points, and an expression made of tests and prints alone.


FLAG_TESTS = words_in(
    "( ) ! , -not -a -and -o -or -true -false -empty -executable -readable -writable -nouser "
    "-nogroup -daystart -depth -d -mount -xdev -noleaf -follow -ignore_readdir_race "
    "-noignore_readdir_race -warn -nowarn -print -print0 -ls -prune -quit -help --help -version "
    "--version"
)
WITH_TEXT = words_in(
    "-name -iname -path -ipath -wholename -iwholename -lname -ilname -regex -iregex -regextype "
    "-type -xtype -size -perm -mtime -atime -ctime -mmin -amin -cmin -user -group -uid -gid -links "
    "-inum -fstype -used -maxdepth -mindepth -printf -context"
)
WITH_FILE = words_in("-newer -anewer -cnewer -samefile")
ACTIONS = {
    "-exec": "runs a program",
    "-execdir": "runs a program",
    "-ok": "runs a program",
    "-okdir": "runs a program",
    "-delete": "deletes files; use the `delete` tool (manually: `assent stage delete PATH`)",
    "-fprint": "writes a file; use -print",
    "-fprint0": "writes a file; use -print0",
    "-fprintf": "writes a file; use -printf",
    "-fls": "writes a file; use -ls",
    "-files0-from": "reads names from a file; name the folders instead",
}
_LEADING = re.compile(r"-[HLP]|-O[0-3]")
_NEWER = re.compile(r"-newer[aBcm]([aBcmt])")


def read_find(words: tuple[ShellWord, ...]) -> ParsedArguments:
    """Parses the words of a find command, or raises Refused."""
    at = 0
    while at < len(words) and _LEADING.fullmatch(words[at].text):
        at += 1
    starts = at
    while at < len(words) and not _begins_expression(words[at].text):
        at += 1
    leading = tuple((word.text, "") for word in words[:starts])
    options, files = _expression(words[at:])
    operands = words[starts:at]
    return ParsedArguments((*leading, *options), operands, (*operands, *files))


def _begins_expression(text: str) -> bool:
    return text in ("(", ")", "!", ",") or (text.startswith("-") and text != "-")


def _expression(
    words: tuple[ShellWord, ...],
) -> tuple[tuple[tuple[str, str], ...], list[ShellWord]]:
    options: list[tuple[str, str]] = []
    files: list[ShellWord] = []
    left = list(reversed(words))
    while left:
        name = left.pop().text
        newer = _NEWER.fullmatch(name)
        if name in FLAG_TESTS:
            options.append((name, ""))
        elif newer or name in WITH_TEXT or name in WITH_FILE:
            value = _value(name, left)
            options.append((name, value.text))
            files += [value] if name in WITH_FILE or (newer and newer[1] != "t") else []
        else:
            raise Refused(_why(name))
    return tuple(options), files


def _value(name: str, left: list[ShellWord]) -> ShellWord:
    if not left:
        raise Refused(f"`find {name}` needs a value.")
    word = left.pop()
    if word.pattern:
        raise Refused(f"`{word.text}` after `{name}` has an unquoted wildcard; put it in quotes.")
    return word


def _why(name: str) -> str:
    if name in ACTIONS:
        return f"`find {name}` {ACTIONS[name]}."
    if name.startswith("-"):
        return f"`find {name}` is not in the list of read-only tests and actions."
    return f"`{name}` comes after the tests of find; put folders first and quote patterns."


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
