"""Foreign arguments: understood where we can do it, else refused by name; never left out unseen."""

from pathlib import Path

import pytest
from tests.tools.call_harness import Desk

from assent.core.llm import ToolCall
from assent.core.session.event import Question, QuestionOption, Todo
from assent.core.shell.process import SandboxState
from assent.core.tool import QuestionsEffect, TodosEffect
from assent.tools.aliases import resolve_alias
from assent.tools.registry import TOOLS
from assent.tools.tool import schema

BY_NAME = {tool.name: tool for tool in TOOLS}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path, hold=SandboxState.NONE)
    desk.put("greet.py", "".join(f"line {n}\n" for n in range(1, 10)))
    desk.put("sub/greet.py", "HI = 1\nhi = 2\n\nprint(hi)\n")
    desk.put("sub/page.ts", "hi\n")
    return desk


LINES: dict[str, object] = {"path": "greet.py"}
SEARCH: dict[str, object] = {"pattern": "hi", "path": "sub"}
CALLS: list[tuple[str, dict[str, object], str]] = [
    ("Read", {"filePath": "sub/page.ts"}, "hi"),
    ("read", LINES | {"offset": 2, "end_line": 3},
     "[greet.py, lines 2-3 of 9]\nline 2\nline 3"),
    ("read_file", LINES | {"start_line": 8, "end_line": 99},
     "[greet.py, lines 8-9 of 9]\nline 8\nline 9"),
    ("read_file", LINES | {"startLine": "8", "endLine": "8"},
     "[greet.py, line 8 of 9]\nline 8"),
    ("read_file", LINES | {"start_line_one_indexed": 9, "should_read_entire_file": False,
                           "end_line_one_indexed_inclusive": 9}, "[greet.py, line 9 of 9]\nline 9"),
    ("read_file", {"target_file": "sub/page.ts", "start_line_one_indexed": 9,
                   "should_read_entire_file": True}, "hi"),
    ("view", LINES | {"view_range": [8, -1]}, "[greet.py, lines 8-9 of 9]\nline 8\nline 9"),
    ("str_replace_editor", LINES | {"command": "view", "view_range": "[1, 2]"},
     "[greet.py, lines 1-2 of 9]\nline 1\nline 2"),
    ("read_files", {"paths": ["greet.py:9", "sub/page.ts"]},
     "[greet.py, line 9 of 9]\nline 9\n[sub/page.ts]\nhi"),
    ("Grep", SEARCH, "sub/greet.py\n2: hi = 2\n4: print(hi)\nsub/page.ts\n1: hi"),
    ("Grep", SEARCH | {"-i": True, "glob": "*.py", "head_limit": 1},
     "sub/greet.py\n1: HI = 1\n[1 of 3 matching lines. Not shown: sub/greet.py 2. "
     'Next: grep {"pattern":"hi","path":"sub/greet.py","ignore_case":true,"limit":3}]'),
    ("Grep", SEARCH | {"output_mode": "files_with_matches"}, "sub/greet.py\nsub/page.ts"),
    ("Grep", SEARCH | {"output_mode": "count", "head_limit": 0}, "sub/greet.py: 2\nsub/page.ts: 1"),
    ("Grep", SEARCH | {"output_mode": "count", "head_limit": 1},
     "sub/greet.py: 2\n[1 of 2 files; narrow the search.]"),
    ("Grep", SEARCH | {"type": "ts", "-n": True, "multiline": False}, "sub/page.ts\n1: hi"),
    ("Grep", SEARCH | {"type": "ts", "glob": "*.py"}, "[No lines match.]"),
    ("Grep", {"pattern": "print", "path": "sub", "-B": 2},
     "sub/greet.py\n2- hi = 2\n3- \n4: print(hi)"),
    ("Grep", {"pattern": "HI", "path": "sub", "-A": 1}, "sub/greet.py\n1: HI = 1\n2- hi = 2"),
    ("Grep", {"pattern": "hi = 2", "path": "sub", "-C": "1"},
     "sub/greet.py\n1- HI = 1\n2: hi = 2\n3- "),
    ("grep_search", {"query": "HI", "case_sensitive": False, "exclude_pattern": "*.py"},
     "sub/page.ts\n1: hi"),
    ("grep_search", {"query": "(hi)", "isRegexp": False}, "sub/greet.py\n4: print(hi)"),
    ("LS", {"path": ".", "ignore": ["sub"]}, "greet.py"),
    ("list_files", {"path": ".", "recursive": False}, "sub/ (2 files)\ngreet.py"),
    ("file_search", {"query": "*.py", "maxResults": 1}, "greet.py\n[1 of 2 files shown; narrow "
                                                        "the pattern.]"),
    ("codebase_search", {"query": "HI", "target_directories": ["sub"]},
     "sub/greet.py:1 HI = 1"),
    ("exec_command", {"cmd": "cat page.ts", "workdir": "sub", "login": True}, "hi"),
    ("run_shell_command", {"command": "cat page.ts", "directory": "sub"}, "hi"),
    ("execute_command", {"command": "cat page.ts", "cwd": "./sub/.", "requires_approval": False},
     "hi"),
    ("Bash", {"command": "cat sub/page.ts", "run_in_background": False}, "hi"),
    ("shell", {"command": ["cat", "sub/page.ts"], "workdir": "."}, "hi"),
    ("shell", {"command": ["bash", "-lc", "cat page.ts | wc -l"], "workdir": "sub"}, "1"),
    ("shell", {"command": ["echo", "a b; $(id)", "it's"]}, "a b; $(id) it's"),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "args", "text"), CALLS)
def test_what_can_be_done_is_done(
    desk: Desk, tool: str, args: dict[str, object], text: str
) -> None:
    assert desk.call(tool, **args).text == text


REFUSED: list[tuple[str, dict[str, object], str]] = [
    ("Bash", {"command": "ls", "run_in_background": True},
     "`run_in_background`: commands do not run"),
    ("Bash", {"command": "ls", "dangerouslyDisableSandbox": True}, "`dangerouslyDisableSandbox`:"),
    ("shell", {"command": "ls", "env": {"A": "b"}}, "`env`: environment variables cannot be set"),
    ("shell", {"command": "ls", "workdir": ".."}, "outside the workspace"),
    ("shell", {"command": "ls", "workdir": "nowhere"}, "nowhere is not a folder on disk"),
    ("shell", {"command": "ls", "workdir": "greet.py"}, "greet.py is not a folder on disk"),
    ("shell", {"command": []}, "Expected `str`, got `array`"),
    ("Grep", {"pattern": "x", "multiline": True}, "`multiline`: a match is within one line"),
    ("Grep", {"pattern": "x", "offset": 5}, "`offset` is unknown. It takes pattern, path,"),
    ("Grep", {"pattern": "x", "type": "cobol"}, "Unknown file type 'cobol'; use include"),
    ("Grep", {"pattern": "x", "output_mode": "tree"}, "one of content, files_with_matches, count"),
    ("Glob", {"pattern": "x", "respect_git_ignore": False}, "`respect_git_ignore`: git-ignored"),
    ("Read", {"file_path": "greet.py", "pages": "1-5"}, "`pages` is unknown"),
    ("view", {"path": "greet.py", "view_range": "all"},
     "`view_range`: it must be two line numbers"),
    ("view", {"path": "greet.py", "view_range": [1, 2], "offset": 3}, "`view_range` is unknown"),
    ("read", {"path": "greet.py", "start_line": 5, "end_line": 2},
     "The last line 2 is before the first line 5"),
    ("Glob", {"pattern": "*", "cwd": "sub"}, "`cwd`: use a path that starts with it"),
    ("edit_file", {"target_file": "greet.py", "code_edit": "x"},
     "`code_edit`: send the existing text"),
    ("replace_in_file", {"path": "greet.py", "diff": "<<<<"}, "`diff`: `patch` takes a diff"),
    ("MultiEdit", {"path": "greet.py", "edits": [{"old": "1", "new": "2", "regex": True}]},
     "`edits[0]`: Object contains unknown field `regex`"),
    ("todo_write", {"merge": True, "todos": []}, "`merge`: the whole list is replaced"),
    ("WebFetch", {"url": "https://x", "format": "html"}, "`format`: pages are returned as text"),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "args", "words"), REFUSED)
def test_what_cannot_be_done_is_refused_by_name(
    desk: Desk, tool: str, args: dict[str, object], words: str
) -> None:
    told = desk.failing(tool, **args)
    assert words in told
    assert told.endswith(".")


@pytest.mark.parametrize(
    ("args", "after"),
    [
        ({"filePath": "f", "oldString": "a", "newString": "", "expectedReplacements": 2}, "\n\n"),
        ({"file_path": "f", "old_str": "a\na", "new_str": "c", "expected_replacements": 1}, "c\n"),
        ({"FilePath": "f", "OldString": "a", "NewString": "d", "replaceAll": "true"}, "d\nd\n"),
    ],
)  # fmt: skip
def test_an_edit_is_understood_however_its_names_are_spelled(
    desk: Desk, args: dict[str, object], after: str
) -> None:
    desk.put("f", "a\na\n")
    desk.call("Edit", **args)
    assert desk.content("f").decode() == after


def test_the_gate_sees_a_command_in_its_folder(desk: Desk) -> None:
    desk.put("sub/.env", "KEY=1\n")
    desk.answer = "no"
    assert "did not allow it" in desk.failing("exec_command", cmd="cat .env", workdir="sub")
    assert desk.asked[0][0][0].resource == "cd './sub' && cat .env"


def test_a_folder_that_is_only_in_the_draft_has_no_commands(desk: Desk) -> None:
    desk.call("write", path="fresh/a", content="x")
    told = desk.failing("exec_command", cmd="cat a; ls", workdir="fresh")
    assert told == "fresh is not a folder on disk. Nothing was run."


@pytest.mark.parametrize(
    ("args", "options"),
    [
        ({"follow_up": ["Red", {"text": "Blue"}]}, ("Red", "Blue")),
        ({"follow_up": "<suggest>Red</suggest>\n<suggest a='x'>Blue</suggest>"}, ("Red", "Blue")),
        ({"options": '["Red", "Blue"]'}, ("Red", "Blue")),
        ({}, ()),
    ],
)  # fmt: skip
def test_a_question_without_a_header_gets_one(
    desk: Desk, args: dict[str, object], options: tuple[str, ...]
) -> None:
    words = "Which of the many colours of the house should the door have?"
    wanted = Question(
        "Which of the many colours of the house", words, tuple(map(QuestionOption, options))
    )
    called = desk.call("ask_followup_question", question=words, **args)
    assert called.effect == QuestionsEffect((wanted,))


def test_a_header_is_never_blank_or_too_long(desk: Desk) -> None:
    for words, header in (("Why?", "Why"), ("x" * 50, "x" * 40), ("??", "??")):
        effect = desk.call("question", questions=[{"question": words}]).effect
        assert effect == QuestionsEffect((Question(header, words),))


def test_todos_of_other_families_are_taken_in(desk: Desk) -> None:
    items = [{"id": 1, "title": "a", "description": "long", "status": "not-started"}]
    called = desk.call("manage_todo_list", todoList=items)
    assert called.effect == TodosEffect((Todo("a", "pending"),))
    called = desk.call("write_todos", todos=[{"description": "b", "status": "in-progress"}])
    assert called.effect == TodosEffect((Todo("b", "in_progress"),))


def test_what_is_understood_from_elsewhere_is_not_offered() -> None:
    assert "before" in BY_NAME["grep"].args.__struct_encode_fields__
    assert [*schema(BY_NAME["grep"].args)["properties"]] == [
        "pattern", "path", "include", "literal", "context", "ignore_case",
    ]  # fmt: skip
    call = resolve_alias(ToolCall("c", "Bash", {"command": "ls", "cwd": "d"}), BY_NAME)
    assert (call.tool, call.args) == ("shell", {"command": "ls", "folder": "d"})
    assert [*schema(BY_NAME["shell"].args)["properties"]] == [
        "command",
        "keep",
        "stage",
        "network",
        "at_end",
        "timeout",
    ]
