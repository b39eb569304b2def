"""Commands that compare files, or show and sum up their bytes."""

from assent.core.errors import Refused
from assent.permissions.commands.read_only.languages.plain_arguments import read_xxd
from assent.permissions.commands.read_only.spec import (
    OperandSpec,
    OptionSpec,
    ParsedArguments,
    ReadOnlyCommandSpec,
)
from assent.permissions.commands.read_only.tables.files import HELP_OPTIONS


def _check_strings(found: ParsedArguments) -> None:
    """A word with `@` in front is a file of further arguments to the programs of binutils."""
    words = [word.text for word in found.operands] + [value for _, value in found.options]
    if any(word.startswith("@") for word in words):
        raise Refused("`@FILE` takes arguments from a file; write `./@FILE` for a file's name.")


DIFF = ReadOnlyCommandSpec(
    "diff",
    HELP_OPTIONS
    | OptionSpec.of(
        "abBcdeEiNnpPqrstTuvwyZ --normal --brief --report-identical-files --ed --rcs "
        "--side-by-side --left-column --suppress-common-lines --show-c-function --expand-tabs "
        "--initial-tab --suppress-blank-empty --recursive --no-dereference --new-file "
        "--unidirectional-new-file --ignore-file-name-case --no-ignore-file-name-case "
        "--ignore-case --ignore-tab-expansion --ignore-trailing-space --ignore-space-change "
        "--ignore-all-space --ignore-blank-lines --text --strip-trailing-cr --minimal "
        "--speed-large-files",
        "CUWFLxSID --width --show-function-line --label --tabsize --exclude --starting-file "
        "--ignore-matching-lines --ifdef --old-group-format --new-group-format "
        "--unchanged-group-format --changed-group-format --line-format --old-line-format "
        "--new-line-format --unchanged-line-format --horizon-lines --palette",
        "X --exclude-from --from-file --to-file",
        "--context --unified --color",
    ),
    runs=(
        "diff a b",
        "diff -u a b",
        "diff -rq src tests",
        "diff -U5 a b",
        "diff --unified=1 -w -B a b",
        "diff -y --width=60 --suppress-common-lines a b",
        "diff -x '*.pyc' -r --no-dereference a b",
    ),
    refused=(
        "diff -l a b",
        "diff -ul a b",
        "diff --paginate a b",
        "diff --pag a b",
        "diff --output=x a b",
        "diff -o x a b",
    ),
    confined=("-r", "--recursive"),
    confined_unless=("--no-dereference", "-q", "--brief"),
    always_descends=True,  # two folders are compared file by file, without any option
    follows=True,
)

CMP = ReadOnlyCommandSpec(
    "cmp",
    HELP_OPTIONS
    | OptionSpec.of("blsv --print-bytes --verbose --quiet --silent", "in --ignore-initial --bytes"),
    OperandSpec(most=4),
    runs=("cmp a b", "cmp -s a b", "cmp -n 10 a b", "cmp -bl a b"),
    refused=("cmp -o x a b", "cmp --byte=3 a b"),
)

BYTES = (
    ReadOnlyCommandSpec(
        "od",
        HELP_OPTIONS
        | OptionSpec.of(
            "abcdfilosxvBDeFHhILOX --output-duplicates --traditional",
            "AjNSt --address-radix --endian --skip-bytes --read-bytes --format",
            maybe="w --width --strings",
        ),
        runs=("od -c x", "od -An -tx1 -N 16 x", "od -t x1z -w8 x"),
        refused=("od -r x", "od --output=x y", "od --form=x1 x"),
    ),
    ReadOnlyCommandSpec(
        "hexdump",
        OptionSpec.of(
            "bcCdoxvhV --one-byte-octal --one-byte-char --canonical --two-bytes-decimal "
            "--two-bytes-octal --two-bytes-hex --no-squeezing --help --version",
            "ens --format --length --skip",
            "f --format-file",
        ),
        runs=("hexdump -C x", "hexdump -n 16 -s 4 x", "hexdump -ve '1/1 \"%02x\"' x"),
        refused=("hexdump -r x", "hexdump --out x", "hexdump --canon x"),
    ),
    ReadOnlyCommandSpec(
        "xxd",
        raw=read_xxd,
        runs=("xxd x", "xxd -l 64 x", "xxd -p -c32 x", "xxd -ps x", "xxd -s -16 x", "xxd -g1 -"),
        refused=(
            "xxd x out",
            "xxd x -p",
            "xxd -ps x out",
            "xxd -l 16 x out",
            "xxd -r x",
            "xxd -r -p x out",
            "xxd -revert x",
            "xxd --r x",
            "xxd -pr x",
            "xxd -- x out",
            "xxd -c x out",
            "xxd *.bin",
        ),
    ),
    ReadOnlyCommandSpec(
        "strings",
        OptionSpec.of(
            "adfowhvV --all --data --print-file-name --include-all-whitespace --help --version",
            "ntesTU --bytes --radix --encoding --output-separator --unicode --target",
            number=True,
        ),
        runs=("strings x", "strings -n 8 x", "strings -8 -tx x", "strings --bytes=6 a b"),
        refused=("strings @list", "strings -n @list x", "strings -o@ x", "strings --output=x y"),
        rule=_check_strings,
    ),
    ReadOnlyCommandSpec(
        "base64",
        HELP_OPTIONS | OptionSpec.of("di --decode --ignore-garbage", "w --wrap"),
        OperandSpec(most=1),
        runs=("base64 x", "base64 -d x", "base64 -w0 -"),
        refused=("base64 x out", "base64 -o x", "base64 --dec x"),
    ),
)


def _sums(name: str, more: OptionSpec) -> ReadOnlyCommandSpec:
    return ReadOnlyCommandSpec(
        name,
        HELP_OPTIONS | OptionSpec.of("z --tag --zero") | more,
        runs=(f"{name} x", f"{name} a b -", f"{name} -z *.txt"),
        refused=(f"{name} -c list", f"{name} -zc list", f"{name} --check list", f"{name} --chec l"),
    )


_TEXT = OptionSpec.of("bt --binary --text")
CHECKSUM_SPECS = (
    *(_sums(f"{kind}sum", _TEXT) for kind in ("md5", "sha1", "sha224", "sha256", "sha384")),
    _sums("sha512sum", _TEXT),
    _sums("b2sum", _TEXT | OptionSpec.of(values="l --length")),
    _sums("cksum", OptionSpec.of("--untagged --debug", "al --algorithm --length")),
)

COMPARE_COMMANDS = (DIFF, CMP, *BYTES, *CHECKSUM_SPECS)
