"""Commands that print text, whole or in parts, sorted, joined, compared or counted."""

import re

from assent.core.errors import Refused
from assent.permissions.commands.read_only.spec import (
    OperandSpec,
    OptionSpec,
    ParsedArguments,
    ReadOnlyCommandSpec,
)
from assent.permissions.commands.read_only.tables.files import HELP_OPTIONS

ZERO = OptionSpec.of("z --zero-terminated")


_COUNT = re.compile(r"[+-]?\d+([bkKMGTPEZYRQ](i?B)?)?")


def _check_tail(found: ParsedArguments) -> None:
    """The old forms `+5f` and `-5f` follow a file for ever."""
    counts = found.values("-n", "-c", "--lines", "--bytes")
    counts += [word.text for word in found.operands if word.text.startswith("+")]
    for count in counts:
        if not _COUNT.fullmatch(count):
            raise Refused(f"`{count}` is not an allowed count for `tail`.")


PAGER_SPECS = (
    ReadOnlyCommandSpec(
        "cat",
        HELP_OPTIONS
        | OptionSpec.of(
            "AbeEnstTuv --show-all --number-nonblank --show-ends --number --squeeze-blank "
            "--show-tabs --show-nonprinting"
        ),
        runs=("cat a b", "cat -n x", "cat *.md -", "cat -- -x", "cat -An x"),
        refused=("cat -o x", "cat --output=x y", "cat --numbe x"),
    ),
    ReadOnlyCommandSpec(
        "tac",
        HELP_OPTIONS | OptionSpec.of("br --before --regex", "s --separator"),
        runs=("tac x", "tac -s, a b"),
        refused=("tac -o x", "tac --sep=, x"),
    ),
    ReadOnlyCommandSpec(
        "head",
        HELP_OPTIONS
        | ZERO
        | OptionSpec.of("qv --quiet --silent --verbose", "cn --bytes --lines", number=True),
        runs=("head -5 x", "head -n -1 x", "head -qn1 a b", "head --lines=3 x", "head -c 16 x"),
        refused=("head --output=x y", "head -o x", "head -n", "head --line=3 x"),
    ),
    ReadOnlyCommandSpec(
        "tail",
        HELP_OPTIONS
        | ZERO
        | OptionSpec.of("qv --quiet --silent --verbose", "cn --bytes --lines", number=True),
        runs=("tail -3 x", "tail -n +2 x", "tail -c10 x", "tail --lines=5 a b", "tail +2 x"),
        refused=(
            "tail -f x",
            "tail -F x",
            "tail -fn 1 x",
            "tail -qf x",
            "tail -n1f x",
            "tail -5f x",
            "tail +1f x",
            "tail --follow x",
            "tail --follow=name x",
            "tail --fol x",
            "tail --retry x",
            "tail --pid=1 x",
        ),
        rule=_check_tail,
    ),
    ReadOnlyCommandSpec(
        "nl",
        HELP_OPTIONS
        | OptionSpec.of(
            "p --no-renumber",
            "bdfhilnsvw --body-numbering --section-delimiter --footer-numbering "
            "--header-numbering --line-increment --join-blank-lines --number-format "
            "--number-separator --starting-line-number --number-width",
        ),
        runs=("nl x", "nl -ba x", "nl -b a -w 4 x"),
        refused=("nl -o x", "nl --body=a x"),
    ),
    ReadOnlyCommandSpec(
        "rev",
        OptionSpec.of("hV0 --help --version --zero"),
        runs=("rev x", "rev a b"),
        refused=("rev -o x", "rev --output x"),
    ),
    ReadOnlyCommandSpec(
        "fold",
        HELP_OPTIONS | OptionSpec.of("bcs --bytes --characters --spaces", "w --width", number=True),
        runs=("fold -w 80 x", "fold -sw80 x", "fold -40 x"),
        refused=("fold -o x", "fold --wid=3 x"),
    ),
    ReadOnlyCommandSpec(
        "fmt",
        HELP_OPTIONS
        | OptionSpec.of(
            "cstu --crown-margin --split-only --tagged-paragraph --uniform-spacing",
            "gpw --goal --prefix --width",
            number=True,
        ),
        runs=("fmt -w 72 x", "fmt -72 x"),
        refused=("fmt -o x", "fmt --wid=3 x"),
    ),
    ReadOnlyCommandSpec(
        "expand",
        HELP_OPTIONS | OptionSpec.of("i --initial", "t --tabs", number=True),
        runs=("expand x", "expand -t4 x", "expand -4 x"),
        refused=("expand -o x", "expand --tab=4 x"),
    ),
    ReadOnlyCommandSpec(
        "unexpand",
        HELP_OPTIONS | OptionSpec.of("a --all --first-only", "t --tabs", number=True),
        runs=("unexpand -a x", "unexpand -t 4 x"),
        refused=("unexpand -o x", "unexpand --tab=4 x"),
    ),
)

FILTER_SPECS = (
    ReadOnlyCommandSpec(
        "cut",
        HELP_OPTIONS
        | ZERO
        | OptionSpec.of(
            "ns --complement --only-delimited",
            "bcdf --bytes --characters --delimiter --fields --output-delimiter",
        ),
        runs=("cut -d, -f1 x", "cut -d ' ' -f 1,3 x", "cut -c1-10 x", "cut -sf2- x"),
        refused=("cut --output=x -f1 y", "cut -o x", "cut -f"),
    ),
    ReadOnlyCommandSpec(
        "tr",
        HELP_OPTIONS
        | OptionSpec.of("cCdst --complement --delete --squeeze-repeats --truncate-set1"),
        OperandSpec(files=False, most=2),
        runs=("tr a-z A-Z", "tr -d '\\n'", "tr -s ' '", "tr - _", "tr -cd '[:alnum:]'"),
        refused=("tr a b c", "tr -o x", "tr [a] b"),
    ),
    ReadOnlyCommandSpec(
        "column",
        OptionSpec.of(
            "tdeLJxhV --table --table-noheadings --table-header-repeat --keep-empty-lines --json "
            "--fillrows --help --version",
            "nONlEHRTWriposcC --table-name --table-order --table-columns --table-columns-limit "
            "--table-noextreme --table-hide --table-right --table-truncate --table-wrap --tree "
            "--tree-id --tree-parent --output-width --output-separator --separator "
            "--table-column",
        ),
        runs=("column -t x", "column -ts, x", "column -t -s , -o ' | ' x", "column -c 40 x"),
        refused=("column --no-such x", "column --tabl x", "column -z x"),
    ),
    ReadOnlyCommandSpec(
        "paste",
        HELP_OPTIONS | ZERO | OptionSpec.of("s --serial", "d --delimiters"),
        runs=("paste a b", "paste -sd+ x", "paste -d, a b -"),
        refused=("paste -o x", "paste --delim=, x"),
    ),
)

SORT_SPECS = (
    ReadOnlyCommandSpec(
        "sort",
        HELP_OPTIONS
        | ZERO
        | OptionSpec.of(
            "bdfgiMhnRrVcCmsu --ignore-leading-blanks --dictionary-order --ignore-case "
            "--general-numeric-sort --ignore-nonprinting --month-sort --human-numeric-sort "
            "--numeric-sort --random-sort --reverse --version-sort --debug --merge --stable "
            "--unique",
            "kSt --sort --batch-size --key --buffer-size --field-separator --parallel",
            "--random-source",
            "--check",
        ),
        runs=(
            "sort x",
            "sort -rn a b",
            "sort -t, -k2,2 x",
            "sort -t ',' -k 3nr x",
            "sort --key=2 -u x",
            "sort -hr",
            "sort --check=quiet x",
        ),
        refused=(
            "sort -o out x",
            "sort -oout x",
            "sort -uo out x",
            "sort -uoout x",
            "sort x -o out",
            "sort --output=out x",
            "sort --output out x",
            "sort --outp=out x",
            "sort -T . x",
            "sort -T. x",
            "sort --temporary-directory=. x",
            "sort --compress-program=sh x",
            "sort --compress-program sh x",
            "sort --compress=sh x",
            "sort --files0-from=list",
            "sort -t -o x",
        ),
        # Pieces of what is sorted go to files in /tmp, for sure or sooner than usual.
        confined=("-m", "--merge", "-S", "--buffer-size", "--batch-size"),
        stays=True,
    ),
    ReadOnlyCommandSpec(
        "uniq",
        HELP_OPTIONS
        | ZERO
        | OptionSpec.of(
            "cdDiu --count --repeated --ignore-case --unique",
            "fsw --skip-fields --skip-chars --check-chars",
            maybe="--all-repeated --group",
        ),
        OperandSpec(most=1),
        runs=("uniq", "uniq -c x", "uniq -d -f 1 x", "uniq --group=both -", "uniq -ci -w8"),
        refused=(
            "uniq x out",
            "uniq - out",
            "uniq -c x out",
            "uniq x -c out",
            "uniq -- x out",
            "uniq -f 1 x out",
            "uniq *.txt",
            "uniq +1 x",
        ),
    ),
    ReadOnlyCommandSpec(
        "comm",
        HELP_OPTIONS
        | ZERO
        | OptionSpec.of("123 --check-order --nocheck-order --total", "--output-delimiter"),
        runs=("comm a b", "comm -12 a b", "comm -13 --total a -"),
        refused=("comm -o x", "comm --output=x a b"),
    ),
    ReadOnlyCommandSpec(
        "join",
        HELP_OPTIONS
        | ZERO
        | OptionSpec.of("i --ignore-case --check-order --nocheck-order --header", "aejotv12"),
        runs=("join a b", "join -t, -1 1 -2 1 a b", "join -a1 -o 1.1,2.2 a b"),
        refused=("join --output=x a b", "join -x a b", "join --head a b"),
    ),
)

COUNT_SPECS = (
    ReadOnlyCommandSpec(
        "wc",
        HELP_OPTIONS
        | OptionSpec.of("cmlLw --bytes --chars --lines --max-line-length --words", "--total"),
        runs=("wc x", "wc -l *.py", "wc -cw a b", "wc --lines x"),
        refused=("wc --files0-from=list", "wc --files0-from list", "wc --files=x", "wc -x a"),
    ),
)

TEXT_COMMANDS = (*PAGER_SPECS, *FILTER_SPECS, *SORT_SPECS, *COUNT_SPECS)
