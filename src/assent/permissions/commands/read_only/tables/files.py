"""Commands about files as such: their names, kinds, sizes, times and places."""

from assent.permissions.commands.read_only.languages.plain_arguments import (
    read_bracket,
    read_test,
    read_tree,
)
from assent.permissions.commands.read_only.spec import OperandSpec, OptionSpec, ReadOnlyCommandSpec

HELP_OPTIONS = OptionSpec.of("--help --version")

LS = ReadOnlyCommandSpec(
    "ls",
    HELP_OPTIONS
    | OptionSpec.of(
        "aAbBcCdDfFgGhHiklLmnNopqQrRsStuUvxXZ1 --all --almost-all --author --escape "
        "--ignore-backups --directory --dired --file-type --full-time --group-directories-first "
        "--no-group --human-readable --si --dereference-command-line "
        "--dereference-command-line-symlink-to-dir --inode --kibibytes --dereference "
        "--numeric-uid-gid --literal --hide-control-chars --show-control-chars --quote-name "
        "--reverse --recursive --size --context --zero",
        "ITw --block-size --format --hide --indicator-style --ignore --quoting-style --sort --time "
        "--time-style --tabsize --width",
        maybe="--color --classify --hyperlink",
    ),
    runs=("ls", "ls -la", "ls -1 *.py", "ls --color=never -- -x", "ls -I '*.pyc' -w 80 src"),
    refused=("ls --colo", "ls --recursiv", "ls -y", "ls --output=x", "ls -l*"),
    opens=False,
    confined=("-L", "-H", "--dereference", "--dereference-command-line"),
)

TREE = ReadOnlyCommandSpec(
    "tree",
    raw=read_tree,
    runs=(
        "tree",
        "tree -L 2 src",
        "tree -aL 2 -I '.git|node_modules' --dirsfirst",
        "tree -L2",
        "tree -P '*.py' --prune",
        "tree --sort=size -h --du",
        "tree -J src",
    ),
    refused=(
        "tree -o out",
        "tree -oout",
        "tree -ao out",
        "tree -Po '*.c' out",
        "tree -PIo a b out",
        "tree -L 1 -R -H . -o out",
        "tree -R",
        "tree --fromfile list",
        "tree --hintro x",
        "tree -P",
        "tree -P *.py",
    ),
    opens=False,
    confined=("-l",),
)

STAT = ReadOnlyCommandSpec(
    "stat",
    HELP_OPTIONS
    | OptionSpec.of("Lft --dereference --file-system --terse", "c --cached --format --printf"),
    runs=("stat README.md", "stat -c '%s %n' a b", "stat -Lc%a x", "stat --format=%a x"),
    refused=("stat --forma=%s x", "stat -x a", "stat -c"),
    opens=False,
)

FILE = ReadOnlyCommandSpec(
    "file",
    HELP_OPTIONS
    | OptionSpec.of(
        "bikLhnNr0vE --brief --mime --mime-type --mime-encoding --extension --apple --keep-going "
        "--dereference --no-dereference --no-buffer --no-pad --raw --print0",
        "eF --exclude --exclude-quiet --separator",
    ),
    runs=("file a b", "file -b x", "file --mime-type *.bin", "file -bi x", "file -F: x"),
    refused=(
        "file -C -m x",
        "file -bC",
        "file --compile",
        "file -m magic x",
        "file -mmagic x",
        "file --magic-file=m x",
        "file -f list",
        "file -bflist",
        "file --files-from list",
        "file -z a.gz",
        "file -Z a.gz",
        "file --uncompress a.gz",
        "file -p x",
        "file --preserve-date x",
        "file -s /dev/sda",
        "file -P bytes=1 x",
    ),
)

DU = ReadOnlyCommandSpec(
    "du",
    HELP_OPTIONS
    | OptionSpec.of(
        "0abcDHhkLlmPSsx --null --all --apparent-size --bytes --total --dereference-args "
        "--human-readable --inodes --dereference --count-links --no-dereference --separate-dirs "
        "--si --summarize --one-file-system",
        "Bdt --block-size --max-depth --threshold --time-style --exclude",
        "X --exclude-from",
        "--time",
    ),
    runs=("du -sh .", "du -h --max-depth=1 src", "du -ad 2 *", "du -sk --exclude='*.o' src docs"),
    refused=("du --files0-from=list", "du --files0-from list", "du --files0=list", "du --max-d 1"),
    opens=False,
    confined=("-L", "-D", "-H", "--dereference", "--dereference-args"),
)

DF = ReadOnlyCommandSpec(
    "df",
    HELP_OPTIONS
    | OptionSpec.of(
        "ahHiklPTv --all --human-readable --si --inodes --local --no-sync --portability --total "
        "--print-type",
        "Btx --block-size --type --exclude-type",
        maybe="--output",
    ),
    runs=("df -h", "df -h .", "df -hT -x tmpfs", "df --output=source,size ."),
    refused=("df --sync", "df --syn", "df -o x"),
    opens=False,
)

PATH_SPECS = (
    ReadOnlyCommandSpec(
        "basename",
        HELP_OPTIONS | OptionSpec.of("az --multiple --zero", "s --suffix"),
        runs=("basename src/main.py .py", "basename -a *.py", "basename -s .py a.py"),
        refused=("basename --mult a", "basename -x a"),
        opens=False,
    ),
    ReadOnlyCommandSpec(
        "dirname",
        HELP_OPTIONS | OptionSpec.of("z --zero"),
        runs=("dirname src/main.py", "dirname -z a/b c/d"),
        refused=("dirname -x a", "dirname --ze a"),
        opens=False,
    ),
    ReadOnlyCommandSpec(
        "realpath",
        HELP_OPTIONS
        | OptionSpec.of(
            "emLPqsz --canonicalize-existing --canonicalize-missing --logical --physical --quiet "
            "--strip --no-symlinks --zero",
            files="--relative-to --relative-base",
        ),
        runs=("realpath src", "realpath -e a b", "realpath --relative-to=docs README.md"),
        refused=("realpath --relative=docs x", "realpath -x a"),
        opens=False,
    ),
    ReadOnlyCommandSpec(
        "readlink",
        HELP_OPTIONS
        | OptionSpec.of(
            "femnqsvz --canonicalize --canonicalize-existing --canonicalize-missing --no-newline "
            "--quiet --silent --verbose --zero"
        ),
        runs=("readlink latest", "readlink -f a", "readlink -en a b"),
        refused=("readlink --canon a", "readlink -x a"),
        opens=False,
    ),
    ReadOnlyCommandSpec(
        "pwd",
        HELP_OPTIONS | OptionSpec.of("LP --logical --physical"),
        OperandSpec(most=0),
        runs=("pwd", "pwd -P"),
        refused=("pwd x", "pwd -x"),
        opens=False,
    ),
)

CONDITIONS = (
    ReadOnlyCommandSpec(
        "test",
        raw=read_test,
        runs=("test -f Makefile", "test a = b", "test ! -d src -a -s x", "test 3 -gt 2"),
        refused=("test -v PATH", "test -Q x", "test --foo"),
        opens=False,
    ),
    ReadOnlyCommandSpec(
        "[",
        raw=read_bracket,
        runs=("[ -f Makefile ]", "[ a = b ]"),
        refused=("[ -f Makefile", "[ -f x]"),
        opens=False,
    ),
)

FILE_COMMANDS = (LS, TREE, STAT, FILE, DU, DF, *PATH_SPECS, *CONDITIONS)
