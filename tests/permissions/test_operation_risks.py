"""Each risk is found where it is and not where it is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.render.values import delete, link, move, state, write

from assent.core.paths import casefolded
from assent.core.permission.sensitive_paths import (
    EXECUTED_LATER,
    PROTECTED_PATHS,
    executed_later,
    is_unsafe_link,
    protected_reason,
)
from assent.core.plan.operation import (
    MODEL_RISKS,
    REHEARSAL_FAILED,
    RISK_CODES,
    RISK_LEVELS,
    STRUCTURE_RISKS,
    FileState,
    Operation,
    RunCommand,
    WriteFile,
    command_line_text,
)
from assent.core.plan.plan import Scope
from assent.core.text.confusables import skeletons
from assent.core.text.glob_pattern import PATH_TABLE, glob_matches
from assent.permissions.commands.classifier import classify_command_line
from assent.permissions.operation_risks import (
    _RULES,
    RiskInput,
    operation_risks,
    scope_risks,
    text_risks,
)
from assent.ports import ReplacementLoss
from assent.render.diff import operation_diff

AWS = "AKIA" + "Z7Q4X2M9K1B8W3LP"


def test_every_code_has_a_rule_in_the_order_of_severity() -> None:
    assert list(RISK_CODES) == [REHEARSAL_FAILED, *MODEL_RISKS, *_RULES, *STRUCTURE_RISKS]
    assert list(RISK_LEVELS) == list(RISK_CODES)
    assert all(meaning.endswith(".") for meaning in RISK_CODES.values())


@pytest.mark.parametrize(
    ("globs", "codes"),
    [
        ((), ()),
        (("src/*",), ("model_writes",)),
        (("*.py", "docs/*"), ("model_writes",)),
        (("*",), MODEL_RISKS),
        (("src/*", "**"), MODEL_RISKS),
        (("**/*",), MODEL_RISKS),
        (("?*",), MODEL_RISKS),
        (("[!.]*", ".*"), MODEL_RISKS),
    ],
)
def test_what_a_scope_lets_a_model_do(globs: tuple[str, ...], codes: tuple[str, ...]) -> None:
    assert scope_risks(Scope(globs)) == codes


def test_protected_paths_prove_themselves() -> None:
    for row in PROTECTED_PATHS:
        assert [protected_reason(path.encode()) for path in row.hits] == [row.why] * len(row.hits)
        assert [protected_reason(path.encode()) for path in row.misses] == [None] * len(row.misses)


_PARTS = [part for row in PROTECTED_PATHS for glob in row.globs for part in glob.split("/")]
_TEMPLATES = ("example", "sample", "template", "dist", "default", "defaults")
_NAMES = st.one_of(
    st.sampled_from(_TEMPLATES).map(lambda word: f".env.{word}"),
    st.sampled_from(_PARTS).map(lambda part: part.replace("*", "")),
    st.sampled_from(_PARTS).map(lambda part: part.replace("*", "x.y")),
    st.sampled_from([name for row in PROTECTED_PATHS for name in (*row.hits, *row.misses)]),
    st.text("aA.-_e\n\u017f*?", max_size=4),
)


@given(st.lists(st.tuples(_NAMES, st.sampled_from(["", "x", ".", "\n"])), min_size=1, max_size=4))
def test_whether_a_path_is_protected_is_decided_by_the_globs_alone(
    names: list[tuple[str, str]],
) -> None:
    path = "/".join(name + more for name, more in names)
    text = casefolded(path.encode()).decode()
    # Each glob stands for whole parts of a path; a line feed at its very end makes no difference.
    parts = text.removesuffix("\n").split("/")
    spans = [
        "/".join(parts[start:end])
        for start in range(len(parts))
        for end in range(start + 1, len(parts) + 1)
    ]
    wanted = any(
        glob_matches(span, glob.lower(), PATH_TABLE)
        for row in PROTECTED_PATHS
        for glob in row.globs
        for span in spans
    )
    template = parts[-1] in [f".env.{word}" for word in _TEMPLATES]  # those everybody commits
    assert (protected_reason(path.encode()) is not None) == (wanted and not template)


def test_files_that_are_run_later_prove_themselves() -> None:
    for row in EXECUTED_LATER:
        assert [executed_later(path.encode()) for path in row.hits] == [row.why] * len(row.hits)
        assert [executed_later(path.encode()) for path in row.misses] == [None] * len(row.misses)


@pytest.mark.parametrize("path", [b".envrc", b".husky/Makefile", b".vscode/package.json"])
def test_a_protected_file_is_in_the_heavier_class_alone(path: bytes) -> None:
    assert executed_later(path) is None
    assert "protected" in _write(None, b"x\n", path)
    assert "executed_later" not in _write(None, b"x\n", path)


def test_a_file_that_is_run_later_is_a_risk_after_the_heavier_ones() -> None:
    secret = b"token = 'k8Xq2vLr9zW4'\n"
    assert _write(None, secret, b"tests/conftest.py") == ("secret", "executed_later")
    assert _write(b"a\n", b"b\n", b"package.json") == ("executed_later",)
    moved = move(b"a.py", b"sitecustomize.py")
    assert operation_risks(moved, RiskInput(diff="")) == ("executed_later",)
    assert operation_risks(move(b"setup.py", b"a.py"), RiskInput(diff="")) == ()
    assert operation_risks(delete(b"setup.py", b"x\n"), RiskInput(diff="")) == ("deletes",)
    order = [*RISK_CODES]
    assert order.index("executed_later") > max(
        map(order.index, ("protected", "secret", "executable"))
    )


def test_what_hides_in_a_text_of_a_plan_is_a_risk() -> None:
    assert text_risks(("# Plan\n" + "\n" * 21 + "end\n").encode()) == ("hidden_text",)
    assert text_risks(("# Pl" + "\u0301" * 9 + "\n").encode()) == ("hidden_text",)
    assert text_risks("# See https://gith\u0443b.com\n".encode()) == ("lookalike",)
    assert text_risks("# План\n\nСок и рука; Tiếng Việt.\n".encode()) == ()


def test_what_hides_in_an_added_line_is_a_risk() -> None:
    assert _write(b"a\n", b"a\n" + b"\n" * 21 + b"b\n") == ("hidden_text",)
    assert _write(b"a\n", ("a\nx" + "\u0301" * 9 + "\n").encode()) == ("hidden_text",)
    assert _write(b"a\n", "a\nimport \u043es\n".encode()) == ("lookalike",)
    assert _write("a\nimport \u043es\n".encode(), b"a\n") == ()


def test_what_hides_in_a_command_is_a_risk() -> None:
    def of(script: bytes) -> tuple[str, ...]:
        return operation_risks(RunCommand(script=script), RiskInput())

    usual = of(b"make\n")
    assert {*of(b"make\n" + b"\n" * 21 + b"true\n")} - {*usual} == {"hidden_text"}
    assert {*of("echo x\u0301\u0301\u0301\u0301\u0301\n".encode())} - {*usual} == {"hidden_text"}
    assert "lookalike" in of("curl https://gith\u0443b.com\n".encode())


@pytest.mark.parametrize(
    "path",
    [b".GITHUB/Workflows/x.yml", ".git\u200dmodules".encode(), b"a/b/.ENV", b".vscode"],
)
def test_disguised_paths_are_protected_too(path: bytes) -> None:
    assert protected_reason(path) is not None


@pytest.mark.parametrize(
    ("path", "target", "away"),
    [
        (b"l", b"file", False),
        (b"a/b/l", b"../../file", False),
        (b"a/b/l", b"./x/../y", False),
        (b"l", b"/etc/passwd", True),
        (b"a/l", b"../../outside", True),
        (b"l", b"..", True),
        (b"a/l", b"x/../../../back/in", True),
        (b"l", b".git/config", True),
        (b"a/l", b"../.GIT/hooks", True),
        (b"l", b".env", True),
        (b".github", b"elsewhere", True),
    ],
)
def test_links_that_lead_away(path: bytes, target: bytes, away: bool) -> None:
    assert is_unsafe_link(path, target) is away


def _write(before: bytes | None, after: bytes, path: bytes = b"src/f.txt") -> tuple[str, ...]:
    op = write(path, before, after)
    return operation_risks(op, RiskInput(operation_diff(op, before, after), before, after))


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        (None, b"hello\n", ()),
        (b"a\n", b"", ()),
        (None, f'key = "{AWS}"\n'.encode(), ("secret",)),
        (f"{AWS}\na\n".encode(), f"{AWS}\nb\n".encode(), ()),
        (f"{AWS}\n".encode(), b"gone\n", ()),
        (None, "a\u202eb\n".encode(), ("hidden_text",)),
        ("a\u202eb\nx\n".encode(), "a\u202eb\ny\n".encode(), ()),
        ("a\u202eb\n".encode(), b"ab\n", ()),
        (None, "\ufeffhead\nx\n".encode(), ()),
        (b"x\n", "x\n\ufeffy\n".encode(), ("hidden_text",)),
        ("\ufeffx\n".encode(), "\ufeffx\n\ufeffy\n".encode(), ("hidden_text",)),
        (None, b"a\r\nb\r\n", ()),
        (b"a\nb\n", b"a\r\nb\r\n", ()),
        (b"a\r\nb\r\n", b"a\r\nb\r\nc\n", ("hidden_text",)),
        (b"a\r\nb\n", b"a\r\nb\nc\n", ()),
        (b"a\n", b"a\nsafe\rrm -rf\n", ("hidden_text",)),
        (None, b"last\r", ("hidden_text",)),
        (None, b"caf\xe9\n", ("hidden_text",)),
        (b"caf\xe9\n", b"caf\xe9\nx\n", ()),
        (None, b"x" * 1001 + b"\n", ("hidden_text",)),
        (None, b"x" + b" " * 300 + b"y\n", ("hidden_text",)),
        (b"a\n", b"\0", ("unshown",)),
        (None, b"++ not a header\n", ()),
    ],
)
def test_content(before: bytes | None, after: bytes, found: tuple[str, ...]) -> None:
    assert _write(before, after) == found


@pytest.mark.parametrize(
    ("op", "look", "found"),
    [
        (delete(b"f", b"x\n"), RiskInput(diff=""), ("deletes",)),
        (delete(b".env", b"x\n"), RiskInput(diff=""), ("deletes", "protected")),
        (delete(b"f", b"\0"), RiskInput(), ("deletes", "unshown")),
        (delete(b"f", b"x"), RiskInput("", facts=ReplacementLoss(2)), ("deletes",)),
        (
            delete(b"f", b"x"),
            RiskInput("", facts=ReplacementLoss(1, ("acl",))),
            ("deletes", "metadata_lost"),
        ),
        (move(b"a", b".npmrc"), RiskInput(diff=""), ("protected",)),
        (move(b".npmrc", b"a"), RiskInput(diff=""), ("protected",)),
        (move(b"a", b"B.py"), RiskInput("", siblings=skeletons([b"b.py"])), ("lookalike",)),
        (move(b"a", b"b\n"), RiskInput(diff=""), ("hidden_text",)),
        (move("b\u200b".encode(), b"b"), RiskInput(diff=""), ("hidden_text",)),
        (write(b"c\xd0\xbe.py", None, b""), RiskInput(diff=""), ("lookalike",)),
        (write(b"f", b"a", b"b"), RiskInput("", facts=ReplacementLoss(2)), ("hard_link",)),
        (
            write(b"f", b"a", b"b"),
            RiskInput("", facts=ReplacementLoss(1, ("acl",))),
            ("metadata_lost",),
        ),
        (link(b"l", b"file"), RiskInput("", after=b"file"), ()),
        (link(b"l", b"/etc"), RiskInput("", after=b"/etc"), ("protected",)),
        (link(b"l", b"?"), RiskInput("", after=None), ("protected",)),
        (write(b"f", None, b""), RiskInput("", scope=Scope(("src/*",))), ("out_of_scope",)),
        (write(b"src/f", None, b""), RiskInput("", scope=Scope(("src/*",))), ()),
        (move(b"src/a", b"b"), RiskInput("", scope=Scope(("src/*",))), ("out_of_scope",)),
    ],
)
def test_operations(op: Operation, look: RiskInput, found: tuple[str, ...]) -> None:
    assert operation_risks(op, look) == found


@pytest.mark.parametrize(
    ("before", "after", "runs"),
    [
        (None, state(b"", 0o755), True),
        (None, state(b"", 0o644), False),
        (state(b"", 0o644), state(b"", 0o744), True),
        (state(b"", 0o755), state(b"x", 0o755), False),
        (state(b"", 0o744), state(b"x", 0o755), True),
        (None, state(b"to", kind="link"), False),
        (state(b"to", kind="link"), state(b"", 0o755), True),
    ],
)
def test_what_becomes_executable(before: FileState | None, after: FileState, runs: bool) -> None:
    found = operation_risks(WriteFile(b"f", before, after), RiskInput(diff="", after=b"to"))
    assert found == (("executable",) if runs else ())


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        (state(b"", 0o755), state(b"", 0o4755), ("set_id", "executable")),
        (state(b"", 0o644), state(b"", 0o2644), ("set_id", "executable")),
        (None, state(b"", 0o1644), ("set_id",)),
        (state(b"", 0o4755), state(b"x", 0o4755), ("set_id",)),
        (state(b"", 0o4755), state(b"", 0o755), ()),
    ],
)
def test_special_bits_are_told(
    before: FileState | None, after: FileState, found: tuple[str, ...]
) -> None:
    assert operation_risks(WriteFile(b"f", before, after), RiskInput(diff="")) == found


def run(
    script: bytes = b"", *argv: bytes, network: bool = False, undo: bytes = b"true"
) -> RunCommand:
    return RunCommand(argv, script, network=network, undo=(undo,) if undo else ())


COMMANDS = RiskInput(scope=Scope((), ("make test", "ls")))


@pytest.mark.parametrize(
    ("op", "look", "found"),
    [
        (run(b"", b"make", b"test"), COMMANDS, ()),
        (run(b"", b"make", b"tests"), COMMANDS, ("out_of_scope",)),
        (run(b"make test"), COMMANDS, ()),
        (run(b"make test && rm x"), COMMANDS, ("deletes", "out_of_scope")),
        (run(b"rm x"), RiskInput(), ("deletes",)),
        (run(b"rm x", undo=b""), RiskInput(), ("deletes",)),
        (run(b"ls", network=True, undo=b""), RiskInput(), ("irreversible", "network")),
        (
            RunCommand((b"ls",), profile="unconfined"),
            RiskInput(),
            ("irreversible", "writes_outside", "network"),
        ),
        (run(b"ls", network=True), RiskInput(), ("network",)),
        (run(b"export T=" + AWS.encode()), RiskInput(), ("secret",)),
        (run("ls \u202e".encode()), RiskInput(), ("hidden_text",)),
        (run(b"", b"ls", b"\x1b[2J"), RiskInput(), ("hidden_text",)),
        (
            run(b"pip install x", network=True, undo=b""),
            RiskInput(),
            ("irreversible", "installs", "network"),
        ),
    ],
)
def test_commands(op: RunCommand, look: RiskInput, found: tuple[str, ...]) -> None:
    line = classify_command_line(command_line_text(op))
    assert operation_risks(op, replace(look, line=line)) == found


def test_a_command_that_nobody_read_is_in_no_scope() -> None:
    assert operation_risks(run(b"make test"), COMMANDS) == ("out_of_scope",)
