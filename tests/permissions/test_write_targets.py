"""What a command does to files by its text: writes, empties, and what nobody can foresee."""

import pytest

from assent.core.plan.operation import RunCommand, command_line_text
from assent.permissions.commands.classifier import classify_command_line
from assent.permissions.commands.predicted_effects import UNREAD, predict_effects, write_targets
from assent.permissions.operation_risks import RiskInput, operation_risks

ROOT = "/srv/app"


def codes(text: str, cwd: bytes = b"") -> set[str]:
    op = RunCommand(script=text.encode(), cwd=cwd)
    line = classify_command_line(command_line_text(op), root=ROOT)
    return set(operation_risks(op, RiskInput(line=line, root=ROOT)))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("echo evil > .github/workflows/ci.yml", {"protected"}),
        ("echo evil >> .envrc", {"protected"}),
        ("echo x > .git/hooks/post-commit", {"protected"}),
        ("git config core.hooksPath x > .git/config", {"protected"}),
        ("rm -rf .github", {"deletes", "protected"}),
        ("git rm -r .github", {"deletes", "protected"}),
        ("mv .github old", {"protected"}),
        ("cd .github && rm -rf workflows", {"deletes", "protected"}),
        ("cp evil /srv/app/.github/workflows", {"protected"}),
        ("bash -c 'tee .husky/pre-commit'", {"protected"}),
        ("> README.md", {"deletes"}),
        (": > README.md", {"deletes"}),
        ("cat /dev/null > README.md", {"deletes"}),
        ("truncate -s0 README.md", {"deletes"}),
        ("cp /dev/null README.md", {"deletes"}),
        ("dd if=/dev/null of=README.md", {"deletes"}),
        ("git checkout -- .", {"deletes"}),
        ("\u0440\u043c -rf x", {"lookalike"}),
        ("echo x > \u0430pp.py", {"lookalike"}),
        # The everyday work of a build says nothing.
        ("npm run build > build.log", set()),
        ("make >> log 2>/dev/null", set()),
        ("mkdir -p build hooks && touch build/x", set()),
        ("cp a b", set()),
        ("echo one > notes.txt", set()),
        ("git checkout -b topic", set()),
        ("ls .github", set()),
        ("./\u0441\u0431\u043e\u0440\u043a\u0430.sh", set()),
    ],
)
def test_what_a_command_does_to_files_is_a_risk_as_of_a_write(text: str, wanted: set[str]) -> None:
    assert codes(text) == wanted


def test_files_are_seen_from_the_folder_of_the_command() -> None:
    assert codes("echo x > workflows/ci.yml", cwd=b".github") == {"protected"}
    assert codes("echo x > ../notes.txt", cwd=b".github") == set()


def test_what_only_reads_writes_nothing() -> None:
    op = RunCommand((b"cat", b"a"))
    assert write_targets(op, classify_command_line("cat a"), ROOT) == ()
    assert write_targets(op, UNREAD, ROOT) == ()


@pytest.mark.parametrize(
    ("text", "unclear"),
    [
        ("python3 -c 'print(1)'", True),
        ("python3.12 -c 'print(1)'", True),
        ("node -e 1", True),
        ("make && perl -e 1", True),
        ("echo x | python3", True),
        ('sh -c "$X"', True),
        ('eval "$X"', True),
        ("rm *.py", True),
        ("python3 script.py", False),
        ("python3 -m pytest", False),
        ("bash -c 'make test'", False),
        ("npm test && make", False),
    ],
)
def test_what_nobody_can_foresee_is_unclear(text: str, unclear: bool) -> None:
    op = RunCommand(script=text.encode())
    assert predict_effects(op, classify_command_line(text), ROOT).unclear == unclear


def test_what_nobody_has_read_is_unclear() -> None:
    assert predict_effects(RunCommand(script=b"a; b")).unclear
    assert predict_effects(RunCommand((b"make",))).unclear
