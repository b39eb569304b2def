"""What a model is told, and which tools it gets, in numbers and in lines."""

from assent.cli.debug import estimate_tokens, prompt_lines, prompt_row, tools_lines, tools_row
from assent.core.llm import ToolDefinition

GIT = ToolDefinition("git", "Shows git.", {"type": "object"})
READ = ToolDefinition("read", "Reads a file.", {"type": "object"})  # 4 + 13 + 17 characters
ESCAPE = bytes([27]).decode()


def test_a_token_has_about_four_characters() -> None:
    assert [estimate_tokens("x" * length) for length in (0, 1, 4, 5)] == [0, 1, 1, 2]


def test_layers_tools_and_their_sum() -> None:
    row = prompt_row("plan", "plan", [("base", "x" * 10), ("facts", "")], [READ])
    assert row == {
        "agent": "plan",
        "mode": "plan",
        "layers": [
            {"name": "base", "tokens": 3, "text": "x" * 10},
            {"name": "facts", "tokens": 0, "text": ""},
        ],
        "tools": {"count": 1, "tokens": 9},
        "tokens": 11,
    }
    assert [line.text for line in prompt_lines(row)] == [
        "base (3 tokens)",
        "│ xxxxxxxxxx",
        "",
        "facts (0 tokens)",
        "",
        "tools: 1 offered (9 tokens)",
        "First request of plan in plan mode: 11 tokens.",
    ]


def test_a_project_cannot_steer_the_terminal_by_its_instructions() -> None:
    row = prompt_row("plan", "plan", [("instructions", f"{ESCAPE}[2J")], [])
    assert not any(ESCAPE in line.text for line in prompt_lines(row))


def test_f12_every_tool_is_offered_or_withheld_with_the_reason() -> None:
    row = tools_row("plan", "plan", [READ], {"fetch": "No host may be fetched from."}, [GIT])
    assert row["tools"] == [
        {
            "name": "read",
            "offered": True,
            "on_demand": False,
            "why": "",
            "tokens": 9,
            "description": "Reads a file.",
            "schema": {"type": "object"},
        },
        {
            "name": "git",
            "offered": True,
            "on_demand": True,
            "why": "",
            "tokens": 8,
            "description": "Shows git.",
            "schema": {"type": "object"},
        },
        {
            "name": "fetch",
            "offered": False,
            "on_demand": False,
            "why": "No host may be fetched from.",
            "tokens": 0,
        },
    ]
    assert [line.text for line in tools_lines(row)] == [
        "plan mode: 1 tool offered, 1 on demand, 1 withheld (agent plan).",
        "read   offered",
        "git    on demand",
        "fetch  withheld   No host may be fetched from.",
    ]
