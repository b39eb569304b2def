"""What a model sees of files, searches and commands: the requests as they are sent to it."""

import json
import subprocess
from pathlib import Path

from bench.story_server import StoryServer
from tests.cli.story_model import Model

from assent.sandbox.visibility import NOT_SEEN
from assent.tools.text_search import LITERALLY

MORE = ["README.md", "shop/cart.py:6"]


def test_f12_a_model_reads_several_files_and_ranges_in_one_call(model: Model) -> None:
    [text] = model.makes(("read", {"path": "shop/prices.py", "lines": "4-6", "more": MORE}))
    assert text == (
        "[shop/prices.py, lines 4-6 of 11]\ndef net_price(cents: int, discount: int = 0) -> int:"
        '\n    """Returns a price after a discount in percent."""\n'
        "    return cents - cents * discount // 100\n"
        "[README.md]\n# Shop\n\n"
        "Prices, a cart and reports. Run the tests with `make test`.\n"
        "[shop/cart.py, line 6 of 18]\nclass Cart:"
    )


def test_f76_no_file_gets_around_the_gate_by_being_second(model: Model) -> None:
    model.put(".env", b"TOKEN=hunter2\n")
    model.put("secret/plan.txt", b"the treasure\n")
    [text] = model.makes(
        ("read", {"path": "README.md", "more": [".env", "secret/plan.txt:1", "Makefile:1"]}),
        options=("--deny", "read:secret/*"),
    )
    assert "# Shop" in text
    assert "[Makefile, line 1 of 2]\ntest:" in text
    assert "hunter2" not in model.sent
    assert "the treasure" not in model.sent
    asked, denied = model.ok("log", "--decisions")["decisions"]
    assert asked["what"].startswith("Allow reading .env?")
    assert (denied["decision"], denied["who"]) == ("deny", "gate")
    assert "read: secret/* = deny" in denied["reason"]


def test_f12_a_long_file_costs_its_outline_and_its_beginning(model: Model) -> None:
    body = "".join(f"def report_{n}():\n    return {n}\n" for n in range(686))
    model.put("long.py", body.encode())
    [text] = model.makes(("read", {"path": "long.py"}))
    lines = text.split("\n")
    assert lines[0].startswith("[long.py, 1,372 lines. ")
    assert lines[1] == "1-2: def report_0():"
    assert "[long.py, lines 1-60 of 1,372]" in lines
    assert len(lines) < 170
    [text] = model.makes(("read", {"path": "long.py", "lines": "28-30"}), options=("-c",))
    # The header says that there is more, and nothing else does.
    assert text == (
        "[long.py, lines 28-30 of 1,372]\n    return 13\ndef report_14():\n    return 14"
    )


OPTIONS = """import os


class Parameter:
    def consume(self):
        return None

    def process(self, value):
        return value


class Option(Parameter):
    name = "option"

    @property
    def long_name(self):
        return "--" + self.name

    def process(self, value):
        if value is None:
            return self.consume()
        return value
"""


def test_f12_a_model_finds_a_definition_with_its_owner_and_its_lines(model: Model) -> None:
    model.put("shop/options.py", OPTIONS.encode())
    several, one, listed = model.makes(
        ("search", {"name": "process"}),
        ("search", {"name": "Option"}),
        ("search", {"path": "shop/options.py"}),
    )
    assert several == (
        "shop/options.py:8-9 def Parameter.process(self, value):\n"
        "shop/options.py:19-22 def Option.process(self, value):"
    )
    assert one == "shop/options.py:12-22 class Option(Parameter):"
    assert listed == (
        "4-9: class Parameter:\n5-6:     def consume(self):\n8-9:     def process(self, value):\n"
        "12-22: class Option(Parameter):\n15-17:     def long_name(self):\n"
        "19-22:     def process(self, value):"
    )


def test_f12_a_model_reads_definitions_by_their_names(model: Model) -> None:
    model.put("shop/options.py", OPTIONS.encode())
    one, mixed, unknown = model.makes(
        ("read", {"path": "shop/options.py", "lines": "Option.process"}),
        (
            "read",
            {
                "path": "shop/options.py",
                "lines": "1, long_name",
                "more": ["shop/prices.py:net_price", "shop/options.py:Parameter.process, 12"],
            },
        ),
        ("read", {"path": "shop/options.py", "lines": "Option.consum"}),
    )
    assert one == (
        "[shop/options.py, lines 19-22 of 22]\n    def process(self, value):\n"
        "        if value is None:\n            return self.consume()\n        return value"
    )
    assert mixed == (
        "[shop/options.py, line 1 of 22]\nimport os\n[lines 15-17]\n    @property\n"
        '    def long_name(self):\n        return "--" + self.name\n'
        "[shop/prices.py, lines 4-6 of 11]\ndef net_price(cents: int, discount: int = 0) -> int:"
        '\n    """Returns a price after a discount in percent."""\n'
        "    return cents - cents * discount // 100\n"
        "[shop/options.py, lines 8-9 of 22]\n    def process(self, value):\n"
        "        return value\n[line 12]\nclass Option(Parameter):"
    )
    assert "5-6 Parameter.consume." in unknown
    told = json.loads(model.server.bodies[0])["tools"]
    [read] = [each["function"] for each in told if each["function"]["name"] == "read"]
    lines = read["parameters"]["properties"]["lines"]["description"]
    assert lines == "28-67,Cart.total"


def test_f12_searches_show_what_a_model_needs_and_no_plan(model: Model) -> None:
    model.makes(("write_plan", {"text": "# NET_PRICE\n"}))
    plans = list(model.root.glob(".opencode/plans/*/PLAN_*.md"))
    assert len(plans) == 1
    plan = str(plans[0].relative_to(model.root))
    grep, bad, listed, globbed, asked = model.makes(
        ("grep", {"pattern": "NET_PRICE\\(cents: ", "ignore_case": True, "context": 1}),
        ("grep", {"pattern": "net_price("}),
        ("list", {}),
        ("glob", {"pattern": f"{model.root}/**/*.md"}),
        ("grep", {"pattern": "NET_PRICE", "path": ".opencode/plans"}),
        options=("-c",),
    )
    assert grep.startswith("shop/prices.py\n3- \n4: def net_price(cents: int")
    assert LITERALLY in bad
    assert ".opencode" not in listed
    assert globbed == "README.md"
    assert asked == f"{plan}\n1: # NET_PRICE"


def test_f23_a_session_without_a_plan_leaves_nothing_in_the_workspace(model: Model) -> None:
    model.makes(("read", {"path": "README.md"}), ("grep", {"pattern": "price"}))
    assert not (model.root / ".opencode").exists()
    status = ["git", "status", "--porcelain", "--ignored"]
    done = subprocess.run(status, cwd=model.root, check=True, capture_output=True)
    assert done.stdout == b""
    # The next change makes a plan, and that stays.
    model.makes(("write", {"path": "new.txt", "content": "x\n"}), options=("-c",))
    assert len(list(model.root.glob(".opencode/plans/*/PLAN_*.md"))) == 1
    model.makes(("read", {"path": "README.md"}), options=("-c",))
    assert len(list(model.root.glob(".opencode/plans/*/PLAN_*.md"))) == 1


def test_f23_a_turn_that_fails_leaves_nothing_either(tmp_path: Path, server: StoryServer) -> None:
    model = Model(tmp_path, server)
    model.env |= {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    config = model.config.read_text(encoding="utf-8")
    model.config.write_text(f"{config}[retry]\ntries = 1\n", encoding="utf-8")
    assert model.run("-p", "Look", "--model", "openai/m").code != 0
    assert not (model.root / ".opencode").exists()


def test_what_others_have_in_the_folder_of_plans_stays(model: Model) -> None:
    model.put(".opencode/agents/mine.md", b"---\ndescription: Mine\n---\nHi.\n")
    model.makes(("read", {"path": "README.md"}))
    assert (model.root / ".opencode/agents/mine.md").is_file()
    assert list(model.root.glob(".opencode/plans/*")) == []


def shown(model: Model, *paths: Path) -> None:
    listed = json.dumps([str(path) for path in paths])
    model.config.write_text(f"[sandbox]\nshow = {listed}\n", encoding="utf-8")


def make_tool(model: Model) -> Path:
    """Makes a folder outside with data and a program."""
    folder = model.base / "elsewhere"
    (folder / "bin").mkdir(parents=True)
    (folder / "data.txt").write_text("far away\n", encoding="utf-8")
    (folder / ".env").write_text("TOKEN=hunter2\n", encoding="utf-8")
    program = folder / "bin" / "faraway"
    program.write_text("#!/bin/sh\necho here\n", encoding="utf-8")
    program.chmod(0o755)
    return folder


def test_f14_a_model_is_told_what_commands_do_not_see_and_who_can_show_it(model: Model) -> None:
    folder = make_tool(model)
    [text] = model.makes(("shell", {"command": f"cat {folder}/data.txt"}))
    assert f"{folder}/data.txt is outside the workspace" in text
    assert "`read` and `list` show it if the user agrees." in text
    assert f'sandbox.show = ["{folder}"]' in text
    shown(model, folder)
    seen, hidden = model.makes(
        ("shell", {"command": f"cat {folder}/data.txt"}),
        ("shell", {"command": f"grep -r -c TOKEN {folder}"}),
        options=("-c",),
    )
    assert seen == "far away"
    assert f"{folder}/data.txt:0" in hidden
    assert ".env:1" not in hidden


def test_f14_what_is_shown_can_be_run_and_read_but_not_changed(model: Model) -> None:
    folder = make_tool(model)
    yolo = ("--mode", "yolo", "--allow", f"external_directory:{folder}/*")
    [text] = model.makes(("shell", {"command": f"{folder}/bin/faraway"}), options=yolo)
    assert f"{folder}/bin/faraway {NOT_SEEN}" in text
    assert f'sandbox.show = ["{folder}/bin"]' in text
    shown(model, folder)
    [text] = model.makes(
        ("shell", {"command": f"{folder}/bin/faraway && echo x >> {folder}/data.txt"}),
        options=yolo,
    )
    assert text.startswith("here\n")
    assert "Read-only file system" in text
    assert (folder / "data.txt").read_text(encoding="utf-8") == "far away\n"


def test_f14_a_rule_that_denies_it_counts_although_it_is_shown(model: Model) -> None:
    folder = make_tool(model)
    shown(model, folder)
    [text] = model.makes(
        ("shell", {"command": f"cat {folder}/data.txt"}),
        options=("--deny", f"external_directory:{folder}/*"),
    )
    assert "far away" not in model.sent
    assert "Nothing was done." in text


def test_f14_a_project_cannot_choose_what_its_commands_see(model: Model) -> None:
    folder = make_tool(model)
    model.put(".opencode/assent.toml", f'[sandbox]\nshow = ["{folder}"]\n'.encode())
    [text] = model.makes(("shell", {"command": f"cat {folder}/data.txt"}))
    assert "is outside the workspace" in text
    assert "far away" not in model.sent


def test_f14_staging_says_what_the_build_will_not_find(model: Model) -> None:
    folder = make_tool(model)
    missing, unseen, fine = model.makes(
        ("shell", {"command": "nosuchprogram --fix && make test", "stage": True}),
        ("shell", {"command": f"python3 fix.py {folder}/data.txt", "stage": True}),
        ("shell", {"command": "touch x && FOO=1 make test > out.txt", "stage": True}),
    )
    assert "[Warning: nosuchprogram was not found. Commands see the workspace" in missing
    assert f"[Warning: {folder}/data.txt {NOT_SEEN}" in unseen
    assert "Warning" not in fine


def test_f14_a_model_chooses_the_time_of_a_command_within_limits(model: Model) -> None:
    [text] = model.makes(("shell", {"command": "seq 1 100000000000 | tail -n 1", "timeout": 1}))
    assert "It was stopped early" in text
    tools = json.loads(model.server.bodies[0])["tools"]
    [shell] = [each["function"] for each in tools if each["function"]["name"] == "shell"]
    assert "timeout" in shell["parameters"]["properties"]
    assert "120 s (`timeout`), 4 GB" in shell["description"]


def test_f77_tools_agree_about_what_is_outside(model: Model) -> None:
    folder = make_tool(model)
    results = model.makes(
        ("read", {"path": f"{folder}/data.txt"}),
        ("list", {"path": str(folder)}),
        ("glob", {"pattern": f"{folder}/*"}),
        ("glob", {"pattern": "*", "path": str(folder)}),
        ("grep", {"pattern": "far", "path": str(folder)}),
        ("shell", {"command": f"ls {folder}"}),
    )
    assert "far away" not in model.sent
    for text in results[2:5]:
        assert "outside the workspace" in text
        assert "`read` and `list` show others if the user agrees." in text
    assert "outside the workspace" in results[5]
