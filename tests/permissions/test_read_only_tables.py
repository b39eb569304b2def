"""The tables: each proves itself by its examples, and what has none, or lies, does not count."""

from collections.abc import Iterable, Iterator

import pytest

from assent.core.errors import Refused
from assent.permissions.commands.read_only.classifier import (
    REGISTRY,
    TABLES,
    ReadOnlyVerdict,
    check_spec_examples,
    classify_read_only,
)
from assent.permissions.commands.read_only.spec import OperandSpec, OptionSpec, ReadOnlyCommandSpec

FINE = ReadOnlyVerdict(read_only=True, reason="Every command in it is read-only.")


def _all(specs: Iterable[ReadOnlyCommandSpec]) -> Iterator[ReadOnlyCommandSpec]:
    for spec in specs:
        yield spec
        yield from _all(spec.children.values())


SPECS = {spec.name: spec for table in TABLES for spec in _all(table)}


@pytest.mark.parametrize("name", SPECS)
def test_every_table_proves_itself(name: str) -> None:
    check_spec_examples(SPECS[name])


def test_no_name_has_two_tables() -> None:
    names = [name for table in TABLES for spec in table for name in (spec.name, *spec.programs)]
    assert sorted(names) == sorted(REGISTRY)


def test_a_table_that_lies_is_refused() -> None:
    options = OptionSpec.of("a")
    check_spec_examples(
        ReadOnlyCommandSpec("tool", options, runs=("tool -a",), refused=("tool -b",))
    )
    for wrong, lie in (
        (
            "it refuses `tool -b`",
            ReadOnlyCommandSpec("tool", options, runs=("tool -b",), refused=("tool -c",)),
        ),
        (
            "it allows `tool -a x`",
            ReadOnlyCommandSpec("tool", options, runs=("tool -a",), refused=("tool -a x",)),
        ),
    ):
        with pytest.raises(Refused, match=f"option table of `tool` is wrong: {wrong}"):
            check_spec_examples(lie)


def test_a_table_without_examples_does_not_count() -> None:
    for silent in (
        ReadOnlyCommandSpec("tool", runs=("tool",)),
        ReadOnlyCommandSpec("tool", refused=("tool -a",)),
    ):
        with pytest.raises(Refused, match="has no examples"):
            check_spec_examples(silent)


def test_f98_a_command_without_a_table_is_refused() -> None:
    for name in ("rm", "frobnicate", "./cat", "/bin/cat", "CAT", "cat.exe", "xargs", "env"):
        judged = classify_read_only(f"{name} x")
        assert judged == ReadOnlyVerdict(read_only=False, reason=judged.reason)
        assert judged.reason.startswith(f"`{name}`")


@pytest.mark.parametrize(
    "line",
    [
        "ls -la && cat README.md | head -5",
        "cat /dev/null /proc/meminfo",
        "ls /dev /proc",
        "cat dev/notes.md proc/x ./dev/x",
        "cd src && cat dev/x",
        "cat ../*/README.md",
        "echo /dev/tty",
    ],
)
def test_lines_that_only_read(line: str) -> None:
    assert classify_read_only(line) == FINE


@pytest.mark.parametrize(
    "line",
    [
        "cat /dev/tty",
        "cat //dev/tty",
        "cat /./dev/tty",
        "cat /dev/../dev/tty",
        "cat /dev/fd/3",
        "cat /dev/stdin/../tty",
        "cat /usr/../dev/tty",
        "cat /../dev/tty",
        "cat ../../../dev/tty",
        "cat a/../../dev/tty",
        "cat /proc/self/environ",
        "cat /proc/self/root/dev/tty",
        "cat /proc/../dev/tty",
        "cat /d?v/tty",
        "cat /*/tty",
        "cd ../.. && cat dev/tty",
        "cd ../.. && cat d*/tty",
        "cd .. && cat dev/tty",
        "cd a/../.. && cat dev/tty",
        "grep -r x /dev",
        "grep -f /dev/tty x",
        "rg --file=/dev/tty x",
        "date -f /dev/tty",
        "wc -l x /dev/random",
        "cat /var/run/../dev/zero",
        "cat link/../dev/zero",
        "cat link/.././../proc/self/environ",
        "cat /sys/kernel/tracing/trace_pipe",
        "grep -r x /sys",
        "cd /proc/self && cat environ",
        "cd /dev && cat zero",
        "cd link/../proc && ls",
        "du -X /dev/zero .",
        "du --exclude-from=/dev/zero .",
        "fd --ignore-file=/dev/zero x",
    ],
)
@pytest.mark.parametrize("sandboxed", [True, False])
def test_devices_and_processes_are_no_files(line: str, *, sandboxed: bool) -> None:
    judged = classify_read_only(line, sandboxed=sandboxed)
    assert not judged.read_only
    assert judged.reason.endswith("may be a device or a process; name a regular file.")


@pytest.mark.parametrize(
    "line",
    [
        "grep -R x .",
        "grep -nR x .",
        "grep --dereference-recursive x .",
        "rg -L x",
        "rg -nL x",
        "rg --follow x",
        "diff -r a b",
        "diff -ur a b",
        "jq -f program.jq x",
        "jq -rf program.jq x",
        "sort -m a b",
        "sort -S 1k a",
        "find -L . -name id_rsa",
        "find -H link",
        "find . -follow",
        "ls -RL",
        "ls -H link",
        "ls --dereference",
        "tree -l",
        "tree -al -L 2",
        "tree -alL 2",
        "du -aL .",
        "du -D link",
        "fd -L x",
        "fd --follow x",
    ],
)
def test_what_follows_symlinks_or_the_like_needs_a_sandbox(line: str) -> None:
    assert classify_read_only(line) == FINE
    judged = classify_read_only(line, sandboxed=False)
    assert not judged.read_only
    assert judged.reason.endswith("can read more than the command names, so it needs a sandbox.")


@pytest.mark.parametrize("line", ["diff -rq a b", "diff -r --no-dereference a b", "grep -r x ."])
def test_what_shows_nothing_behind_symlinks_does_not(line: str) -> None:
    assert classify_read_only(line, sandboxed=False) == FINE


@pytest.mark.parametrize(
    "line",
    [
        "cd / && ls",
        "cd /.. && ls",
        "cd /usr/.. && ls",
        "cd // && ls",
        "grep -r x /",
        "rg x /",
        "rg x /usr/..",
        "grep -R x //",
    ],
)
def test_the_whole_machine_is_too_much(line: str) -> None:
    judged = classify_read_only(line)
    assert not judged.read_only
    assert "the file system root" in judged.reason


@pytest.mark.parametrize(
    "line", ["ls /", "find / -maxdepth 1", "ls /dev", "cat src/../a", "ls /proc"]
)
def test_names_may_be_listed_anywhere(line: str) -> None:
    assert classify_read_only(line) == FINE


def test_a_second_operand_that_would_be_written() -> None:
    spec = ReadOnlyCommandSpec(
        "tool", operands=OperandSpec(most=1), runs=("tool x",), refused=("tool x y",)
    )
    check_spec_examples(spec)
