"""Plans over HTTP: listed, shown, compared, reviewed in pages, proposed, selected and rebased."""

from concurrent.futures import ThreadPoolExecutor

from tests.cli.harness import World
from tests.web.harness import Client, Served
from tests.web.plan_calls import proposed

UNKNOWN = "01zzzzzzzzzzzzzzzzzzzzzzzz"


def without_workspace(row: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in row.items() if name != "workspace"}


def test_g1_plans_are_the_same_rows_as_on_the_command_line(server: Served) -> None:
    world, viewer = server.world, server.token("viewer")
    assert viewer.get("/plans") == {"plans": []}
    plan, digest = proposed(world, a=b"a\n", b=b"\xff\n")
    listed = viewer.get("/plans")["plans"]
    assert [without_workspace(row) for row in listed] == world.ok("plan", "list")["plans"]
    workspace = listed[0]["workspace"]
    assert viewer.get(f"/plans?workspace={workspace}")["plans"] == listed
    assert viewer.get("/plans?workspace=other", 404)["error"] == "not_found"
    assert viewer.get("/plans?page=2", 400)["error"] == "usage"
    shown = viewer.get(plan)
    assert (shown.pop("work"), shown.pop("text")) == (None, world.text().read_text("utf-8"))
    assert without_workspace(shown) == world.ok("plan", "show")
    assert viewer.get(f"{plan}/review") == world.ok("review")
    assert viewer.get(f"{plan}/review")["digest"] == digest == shown["digest"]
    assert viewer.get(f"/plans/{UNKNOWN}", 404)["error"] == "not_found"
    assert viewer.get(f"/plans/{UNKNOWN}/review", 404)["error"] == "not_found"


def test_revisions_of_a_plans_text_are_shown_and_compared(server: Served) -> None:
    world, viewer = server.world, server.token("viewer")
    plan = f"/plans/{world.plan()['plan_id']}"
    world.ok("plan", "write", "-", stdin=b"# One\n")
    world.ok("plan", "write", "-", stdin=b"# Two\n")
    assert viewer.get(f"{plan}/revisions") == world.ok("plan", "history")
    assert viewer.get(f"{plan}/revisions/2") == {"n": 2, "text": "# One\n"}
    told = world.ok("plan", "history", "--diff", "2", "3")["diff"]
    assert viewer.get(f"{plan}/diff?from=2&to=3") == {"diff": told}
    for wrong in ("9", "x", "-1", "²"):
        assert viewer.request("GET", f"/api/v1{plan}/revisions/{quoted(wrong)}").status == 404
    assert viewer.get(f"{plan}/diff?from=2&to=9", 404)["error"] == "not_found"
    assert viewer.get(f"{plan}/diff?from=2", 400)["error"] == "usage"


def quoted(text: str) -> str:
    return "".join(f"%{byte:02x}" for byte in text.encode())


def test_a_plan_is_proposed_selected_rebased_and_discarded(server: Served) -> None:
    world, author, approver = server.world, server.token("author", "a"), server.browser()
    world.put("a.txt", b"1\n2\n3\n4\n5\n6\n7\n8\n")
    first = f"/plans/{world.plan('first')['plan_id']}"
    world.ok("stage", "edit", "a.txt", "--find", "8", "--put", "eight")
    second = f"/plans/{world.plan('second')['plan_id']}"
    assert author.post(f"{first}/select")["name"] == "first"
    assert world.ok("plan", "show")["name"] == "first"
    row = author.post(f"{first}/propose")
    assert row["state"] == "AWAITING_APPROVAL"
    assert row["digest"] == world.ok("review")["digest"]
    assert author.post(f"{second}/propose", status=400)["error"] == "bad_plan"

    world.put("a.txt", b"one\n2\n3\n4\n5\n6\n7\n8\n")
    assert author.post(f"{first}/rebase", status=403)["error"] == "forbidden"
    other = {"digest": "0" * 64}
    assert approver.post(f"{first}/rebase", other, 409)["error"] == "other_digest"
    shown = approver.post(f"{first}/rebase", {"dry_run": True})
    told = world.ok("rebase", "--dry-run")
    assert without_workspace(shown) == told
    done = approver.post(f"{first}/rebase", {"digest": row["digest"]})
    assert done["was"] == row["digest"]
    assert done["digest"] == shown["digest"] == world.ok("review")["digest"]
    world.put("a.txt", b"one\n2\n3\n4\n5\n6\n7\n88\n")
    assert approver.post(f"{first}/rebase", status=409)["error"] == "drift"

    assert author.post(f"{first}/discard", status=403)["error"] == "forbidden"
    gone = approver.post(f"{first}/discard", {"digest": done["digest"]})
    assert gone["state"] == "DISCARDED"
    assert [row["name"] for row in approver.get("/plans")["plans"]] == ["second"]
    assert len(approver.get("/plans?all=true")["plans"]) == 2
    assert approver.post(f"{first}/discard", status=409)["error"] == "illegal_step"
    for verb in ("propose", "select"):
        assert server.token("viewer", f"v{verb}").post(f"{first}/{verb}", status=403)


def test_a_large_plan_is_reviewed_page_by_page(server: Served) -> None:
    world, browser = server.world, server.browser()
    plan = f"/plans/{world.plan()['plan_id']}"
    lines = [line for n in range(230) for line in patch_of(f"f{n:03}", "x\n")]
    lines += [line for n in range(3) for line in patch_of(f"g{n}", "y" * 700_000 + "\n")]
    world.ok("stage", "patch", "-", stdin="".join(lines).encode())
    digest = world.propose()
    whole = browser.get(f"{plan}/review")
    pages = [browser.get(f"{plan}/review?page=1")]
    assert (pages[0]["page"], pages[0]["page_operations"]) == (1, 100)
    for number in range(2, pages[0]["pages"] + 1):
        pages.append(browser.get(f"{plan}/review?page={number}"))
    assert [len(page["operations"]) for page in pages] == [100, 100, 31, 1, 1]
    assert [op for page in pages for op in page["operations"]] == whole["operations"]
    assert {page["digest"] for page in pages} == {digest}
    header = {name: value for name, value in whole.items() if name != "operations"}
    assert header.items() <= pages[0].items()
    assert browser.get(f"{plan}/review?page=6", 404)["error"] == "not_found"
    assert browser.get(f"{plan}/review?page=-1", 400)["error"] == "usage"
    assert browser.get(f"{plan}/review?page=two", 400)["error"] == "usage"


def patch_of(name: str, line: str) -> list[str]:
    return [f"--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+{line}"]


def test_many_callers_at_once_get_whole_answers(server: Served) -> None:
    """Reading, staging and proposing several plans from several threads of one server."""
    world: World = server.world
    plans = [f"/plans/{world.plan(f'plan{n}')['plan_id']}" for n in range(4)]
    callers = [server.token("author", f"caller{n}") for n in range(4)]

    def work(pair: tuple[Client, str]) -> str:
        caller, plan = pair
        for n in range(5):
            body = {"kind": "write", "path": f"{plan[-8:]}-{n}", "content": f"{n}\n"}
            caller.post(f"{plan}/operations", body)
            assert len(caller.get(f"{plan}/operations")["operations"]) == n + 1
            caller.get("/plans")
            caller.get(f"{plan}/review")
        return str(caller.post(f"{plan}/propose")["digest"])

    with ThreadPoolExecutor(4) as threads:
        digests = list(threads.map(work, zip(callers, plans, strict=True)))
    assert [callers[0].get(plan)["digest"] for plan in plans] == digests
    listed = [without_workspace(row) for row in callers[0].get("/plans")["plans"]]
    assert listed == world.ok("plan", "list")["plans"]
    assert world.ok("log", "--verify")["holds"] is True


def test_odd_addresses_and_numbers_are_no_faults_of_the_server(server: Served) -> None:
    world, browser = server.world, server.browser()
    for path in ("/runs", "/plans", "/waiting"):
        browser.get(path)  # of a folder that is no workspace yet
    plan = f"/plans/{world.plan()['plan_id']}"
    for odd in ("%00", "%ff", "%2e%2e", "%25", "x" * 5000, "%F0%9F%98%80", "-"):
        for path in (
            f"/plans/{odd}", f"/plans/{odd}/review", f"{plan}/revisions/{odd}",
            f"{plan}/operations/{odd}/content", f"{plan}/work/{odd}", f"/runs/{odd}",
            f"/runs/{odd}/undo", f"/runs/{odd}/evidence",
        ):  # fmt: skip
            reply = browser.request("GET", f"/api/v1{path}")
            assert (reply.status, reply.json["error"]) == (404, "not_found"), path
        for path in (f"{plan}/operations/{odd}", f"{plan}/comments/{odd}"):
            reply = browser.request("DELETE", f"/api/v1{path}")
            assert reply.status == 404, path
    many = "9" * 5000
    for path in (
        f"{plan}/revisions/{many}", f"{plan}/diff?from={many}&to=1", f"{plan}/review?page={many}",
        f"/runs?limit={many}", f"{plan}/review?page=1&page=2",
    ):  # fmt: skip
        assert browser.request("GET", f"/api/v1{path}").status in (400, 404), path
    huge = 10**40
    for path, body in (
        (f"{plan}/operations", {"kind": "patch", "content": "x", "strip": huge}),
        (f"{plan}/operations", {"kind": "run", "argv": ["x"], "timeout": huge}),
        (f"{plan}/operations", {"kind": "run", "argv": ["a\0b"]}),
        (f"{plan}/operations", {"kind": "run", "argv": ["x"], "env": {"a=b": "c"}}),
        (f"{plan}/operations", {"kind": "write", "path": "a\0b", "content": ""}),
        (f"{plan}/operations", {"kind": "write", "path": "a", "content": "", "mode": huge}),
        (f"{plan}/operations", {"kind": "write", "path": "x" * 5000, "content": ""}),
        (f"{plan}/operations", {"kind": "write", "path": "x" * 256, "content": ""}),
        (f"{plan}/operations", {"kind": "move", "path": "a", "to": "x" * 5000}),
        (f"{plan}/operations", {"kind": "link", "path": "a", "target": "x" * 5000}),
        (f"{plan}/operations", {"kind": "run", "argv": ["x"], "cwd": "x" * 5000}),
        (f"{plan}/operations", {"kind": "delete", "path_b64": "eHh4" * 2000}),
        (f"{plan}/rehearse", {"timeout": huge}),
        (f"{plan}/approve", {"digest": "", "expires_s": huge}),
    ):
        reply = browser.request("POST", f"/api/v1{path}", body)
        assert reply.status in (400, 422), (body, reply)
    assert "/api/v1/plans/{plan}/approve" in browser.get("/openapi.json")["paths"]
