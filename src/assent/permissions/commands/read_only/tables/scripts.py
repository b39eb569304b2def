"""Commands that take a small program: sed, awk and jq, where it provably only prints."""

from assent.permissions.commands.read_only.languages.awk import read_awk
from assent.permissions.commands.read_only.languages.jq import read_jq
from assent.permissions.commands.read_only.languages.sed import check_sed
from assent.permissions.commands.read_only.spec import OperandSpec, OptionSpec, ReadOnlyCommandSpec

SED = ReadOnlyCommandSpec(
    "sed",
    OptionSpec.of(
        "nErsuzb --quiet --silent --regexp-extended --separate --unbuffered --null-data --binary "
        "--debug --sandbox --help --version",
        "el --expression --line-length",
    ),
    OperandSpec(texts=1, texts_unless=("-e", "--expression", "--version", "--help")),
    runs=(
        "sed -n '1,80p' x",
        "sed -n 5p x y",
        "sed 's/a/b/g;/two/d' x",
        "sed -e 's/a/b/' -e '$d' x",
        "sed -n '/class/,/return/{=;p}' x",
        "sed -E 's|([a-z]+)@|\\1 at |2gI' x",
        "sed ':a;N;$!ba;s/\\n/ /g' x",
        "sed '1i\\ text' x",
        "sed --expression=3q x",
    ),
    refused=(
        "sed -i s/a/b/ x",
        "sed -i.bak s/a/b/ x",
        "sed -ni 1p x",
        "sed s/a/b/ x -i",
        "sed --in-place s/a/b/ x",
        "sed --in-place=.bak s/a/b/ x",
        "sed --in-plac s/a/b/ x",
        "sed -f script x",
        "sed -nf script x",
        "sed --file=script x",
        "sed 'w out' x",
        "sed -n '/a/w out' x",
        "sed 's/a/b/w out' x",
        "sed 's/a/b/gw out' x",
        "sed 's/x/date/e' x",
        "sed '1e date' x",
        "sed 'r other' x",
        "sed 'R other' x",
        "sed 'W out' x",
        "sed -e p -e 'w out' x",
        "sed 's/[/]/b/w out' x",
        "sed --posix p x",
    ),
    rule=check_sed,
    adds=("--sandbox",),
)


def _awk(name: str) -> ReadOnlyCommandSpec:
    return ReadOnlyCommandSpec(
        name,
        raw=read_awk,
        runs=(
            f"{name} '{{print $1}}' x",
            f"{name} -F: -v n=2 'NR==n {{print $NF}}' *.txt",
            f"{name} -F ',' '$3 > 100 {{print $1, $2}}' x",
            f"{name} '/foo|bar/ {{n++}} END {{print n+0}}' x",
            f"{name} '{{s += $1}} END {{print s/NR}}' x",
            f"{name} '!seen[$0]++' FS=, x",
        ),
        refused=(
            f"{name} '{{print > \"out\"}}' x",
            f"{name} '{{print $1 >> \"out\"}}' x",
            f"{name} '{{print | \"sh\"}}' x",
            f"{name} 'BEGIN {{system(\"date\")}}'",
            f"{name} 'BEGIN {{\"date\" | getline}}'",
            f"{name} 'BEGIN {{getline x < \"other\"}}'",
            f"{name} '@load \"filefuncs\"' x",
            f"{name} '{{print}}' /inet/tcp/0/localhost/80",
            f"{name} -f script x",
            f"{name} -fscript x",
            f"{name} --file=script x",
            f"{name} -i inplace '{{print}}' x",
            f"{name} -oout '{{print}}' x",
            f"{name} --profile=out '{{print}}' x",
            f"{name} -W exec script",
            f"{name} -v ARGV=1 '{{print}}' x",
        ),
    )


JQ = ReadOnlyCommandSpec(
    "jq",
    raw=read_jq,
    runs=(
        "jq . x",
        "jq -r '.users[].name' a b",
        "jq -nr --arg a -x '$a'",
        "jq --argjson n 1 --indent 2 '.[$n]' x",
        "jq --slurpfile a x -n '$a'",
        "jq -n '$ARGS' --args *",
        "jq -f program.jq x",
        "jq '.exports.import' package.json",
    ),
    refused=(
        "jq -i . x",
        "jq --in-place . x",
        "jq -L lib . x",
        "jq -nL lib .",
        "jq -Llib . x",
        "jq -n 'import \"a\" as $a; $a'",
        "jq -n ' include \"a\"; .'",
        "jq --arg a",
        "jq .[0] x",
        "jq --raw . x",
    ),
    confined=("-f", "--from-file"),
    stays=True,
)

SCRIPT_COMMANDS = (SED, *(_awk(name) for name in ("awk", "gawk", "mawk")), JQ)
