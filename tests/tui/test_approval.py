"""The approval panel on a real engine: what is shown, what counts as a yes, what comes of it."""

import hashlib
from collections.abc import Awaitable, Callable

import pytest
from msgspec.structs import replace
from tests.tui.harness import Seat, Stage
from tests.tui.panel_actions import LONG, Reader, proposed
from textual.events import Paste

from assent.core.plan.record import PlanState
from assent.render.lines import GUTTER
from assent.tui.keys import TOO_QUICK
from assent.tui.panels.approval.panel import ApprovalPanel
from assent.tui.panels.approval.review import CHANGED
from assent.tui.panels.approval.state import READ_ON
from assent.tui.panels.approval.state import ApprovalStage as At
from assent.tui.panels.text_input import TextInputPanel

Act = Callable[[Reader], Awaitable[None]]


def read_by(act: Act) -> Callable[[Seat], Awaitable[None]]:
    async def sit(seat: Seat) -> None:
        await act(Reader(seat))

    return sit


def test_f37_the_text_that_is_shown_is_the_text_that_is_hashed(stage: Stage) -> None:
    text = "# Long\n\n" + "".join(f"{n}. step {n} of the work, in full\n" for n in range(900))
    stage.plan("work")
    stage.ok("plan", "write", "-", stdin=text.encode())
    stage.write("a.txt", LONG)
    digest = stage.ok("propose")["digest"]

    async def act(reader: Reader) -> None:
        await reader.open()
        shown = {sheet.key: sheet.lines for sheet in reader.panel.line_view.sections}
        lines = [line.text for line in shown["text"] if line.text.startswith(GUTTER)]
        written = "".join(f"{line.removeprefix(GUTTER)}\n" for line in lines)
        assert hashlib.sha256(written.encode()).hexdigest() == reader.record.content_hash
        added = [
            line.text.partition("+")[2] for line in shown["operation 1"] if line.style == "added"
        ]
        assert "".join(f"{line}\n" for line in added).encode().endswith(LONG)
        await reader.seat.shows(digest[:12])
        rows = []
        for _ in range(2000):
            top = reader.panel.line_view.scroll_offset.y
            rows.append(reader.seat.text())
            if reader.panel.standing.read:
                break
            await reader.press("pagedown")
            assert reader.panel.line_view.scroll_offset.y > top
        drawn = "\n".join(rows)
        assert all(f"{n}. step {n} of the work" in drawn for n in range(900))
        assert all(f"+line {n}" in drawn for n in range(60))

    stage.show(read_by(act))


def test_f37_what_hides_in_a_plan_is_written_out(stage: Stage) -> None:
    stage.plan("work")
    stage.ok("plan", "write", "-", stdin="# A\u202e\u200b plan\r\nof it\r\n".encode())
    stage.ok("propose")

    async def act(reader: Reader) -> None:
        await reader.open()
        await reader.seat.shows("# A<U+202E><U+200B> plan␍")
        await reader.seat.until(
            lambda: any(word in reader.seat.text().lower() for word in ("unicode", "hidden"))
        )

    stage.show(read_by(act))


def test_f38_1_and_o_approve_and_nothing_is_built(stage: Stage) -> None:
    digest = proposed(stage)["digest"]

    async def act(reader: Reader) -> None:
        await reader.open()
        await reader.to_the_end()
        await reader.press("1")
        await reader.seat.until(lambda: digest in read_across(reader.seat))
        await reader.press("o")
        await reader.closed()
        assert reader.approvals == [(digest, "terminal", "")]
        assert reader.record.state is PlanState.AWAITING_APPROVAL

    stage.show(read_by(act))
    assert not (stage.root / "long.txt").exists()


def test_f38_1_and_y_approve_and_build(stage: Stage) -> None:
    digest = proposed(stage)["digest"]

    async def act(reader: Reader) -> None:
        await reader.open()
        await reader.to_the_end()
        await reader.press("1", "y")
        await reader.seat.until(lambda: reader.record.state is PlanState.COMPLETED)
        assert reader.approvals == [(digest, "terminal", "")]
        await reader.seat.rest()

    stage.show(read_by(act))
    assert (stage.root / "long.txt").read_bytes() == LONG


def test_f72_a_plan_with_a_denied_file_says_so_and_is_not_built(stage: Stage) -> None:
    proposed(stage)
    rule = '[permission.edit]\n"long.txt" = "deny"\n'
    stage.config.write_text(stage.config.read_text("utf-8") + rule, encoding="utf-8")

    async def act(reader: Reader) -> None:
        await reader.open()
        await reader.seat.shows("Cannot be built: long.txt: A rule from")
        await reader.to_the_end()
        await reader.press("1", "y")
        await reader.seat.shows("Rules deny changes to long.txt")
        await reader.seat.rest()

    stage.show(read_by(act))
    assert not (stage.root / "short.txt").exists()
    assert stage.ok("plan", "show")["approved"] is True


def test_an_approved_plan_is_built_later_without_another_yes(stage: Stage) -> None:
    digest = proposed(stage)["digest"]
    stage.ok("approve", "--digest", digest)

    async def act(reader: Reader) -> None:
        await reader.open()
        await reader.to_the_end()
        await reader.seat.shows("1 build")
        await reader.press("1", "y")
        await reader.seat.until(lambda: reader.record.state is PlanState.COMPLETED)
        assert [yes[1] for yes in reader.approvals] == ["digest"]
        await reader.seat.rest()

    stage.show(read_by(act))


def test_f41_before_the_end_1_only_turns_the_page(stage: Stage) -> None:
    proposed(stage)

    async def act(reader: Reader) -> None:
        await reader.open()
        await reader.press("1")
        await reader.seat.shows(READ_ON)
        assert reader.panel.line_view.scroll_offset.y > 0
        await reader.press("y", "o", "enter")
        assert reader.at() is At.READING
        assert reader.approvals == []

    stage.show(read_by(act))


@pytest.mark.parametrize(
    ("size", "lines"),
    [((40, 16), 1), ((80, 24), 1), ((80, 24), 7), ((80, 24), 60), ((100, 30), 11)],
)
def test_f41_every_row_was_in_sight_when_1_asks(
    stage: Stage, size: tuple[int, int], lines: int
) -> None:
    proposed(stage, work=b"line\n" * lines)

    async def act(reader: Reader) -> None:
        await reader.open()
        view = reader.panel.line_view
        seen: set[int] = set()

        def look() -> None:
            seen.update(range(view.scroll_offset.y, view.scroll_offset.y + view.size.height))

        look()
        for _ in range(view.rows):
            await reader.press("1")
            look()
            if reader.at() is At.CHOOSING:
                break
        await reader.seat.until(lambda: reader.panel.standing.read)
        look()
        assert seen >= {*range(view.rows)}
        await reader.press("o")
        await reader.closed()
        assert len(reader.approvals) == 1

    stage.show(read_by(act), size=size)


def test_f41_a_skip_says_what_was_not_shown_and_asks_once(stage: Stage) -> None:
    digest = proposed(stage)["digest"]

    async def act(reader: Reader) -> None:
        await reader.open()
        await reader.press("s")
        await reader.seat.shows("Not shown yet:")
        await reader.seat.shows("including operations 1 to 2")
        await reader.seat.shows(digest)
        await reader.press("n")
        assert reader.at() is At.READING
        assert reader.approvals == []
        await reader.press("s", "o")
        await reader.closed()
        assert reader.approvals == [(digest, "terminal", "")]

    stage.show(read_by(act))
    since = stage.ok("review")["since"]
    assert since is None, "what was skipped does not count as read"


def test_f41_a_skip_of_high_risk_takes_a_step_of_its_own(stage: Stage) -> None:
    stage.put("old.txt", LONG)
    stage.plan("work")
    stage.ok("stage", "delete", "old.txt")
    digest = stage.ok("propose")["digest"]

    async def act(reader: Reader) -> None:
        await reader.open()
        await reader.press("s")
        await reader.seat.shows("Not shown yet:")
        await reader.seat.shows("including operation 1")
        await reader.press("y")
        assert reader.at() is At.READING
        await reader.press("s", "1", "o")
        await reader.closed()
        assert reader.approvals == [(digest, "terminal", "")]

    stage.show(read_by(act))
    since = stage.ok("review")["since"]
    assert since is None, "what was skipped does not count as read"


def test_f41_any_other_key_at_the_question_is_no_yes(stage: Stage) -> None:
    proposed(stage)

    async def act(reader: Reader) -> None:
        await reader.open()
        for key in ("escape", "enter", "space", "q", "N", "Y", "tab", "0", "z", "1"):
            await reader.to_the_end()
            await reader.press("1")
            assert reader.at() is At.CHOOSING, key
            await reader.press(key)
            assert isinstance(reader.app.screen, ApprovalPanel), key
            assert reader.at() is (At.CHOOSING if key == "1" else At.READING), key
            assert reader.approvals == [], key

    stage.show(read_by(act))


def test_f41_keys_typed_before_the_panel_opened_are_dropped_and_a_burst_takes_the_question_back(
    stage: Stage,
) -> None:
    proposed(stage, short=b"short\n")

    async def act(reader: Reader) -> None:
        reader.app.review_plan(reader.record.plan_id)
        reader.burst("s", "1", "y", "1", "o")
        await reader.reads()
        assert reader.approvals == []
        await reader.to_the_end()
        reader.burst("1", "y")
        await reader.seat.shows(TOO_QUICK)
        assert reader.at() is At.READING
        assert reader.approvals == []

    stage.show(read_by(act))


def test_f41_a_paste_decides_nothing(stage: Stage) -> None:
    proposed(stage)

    async def act(reader: Reader) -> None:
        await reader.open()
        await reader.to_the_end()
        for text in ("1", "1y", "1\ny\n", "s1y"):
            reader.app.post_message(Paste(text))
            await reader.seat.pilot.pause()
        assert reader.at() is At.READING
        await reader.press("1")
        for text in ("y", "o", "y\n"):
            reader.app.post_message(Paste(text))
            await reader.seat.pilot.pause()
        assert reader.at() is At.CHOOSING
        assert reader.approvals == []

    stage.show(read_by(act))


def test_f41_a_key_that_is_held_down_approves_nothing(stage: Stage) -> None:
    proposed(stage)

    async def act(reader: Reader) -> None:
        await reader.open()
        await reader.to_the_end()
        for key in ("y", "o", "s", "3", "1"):
            await reader.press(*[key] * 4)
        assert reader.at() is At.CHOOSING
        assert reader.approvals == []

    stage.show(read_by(act))


def test_f41_what_opens_over_the_question_takes_it_back(stage: Stage) -> None:
    proposed(stage)

    async def act(reader: Reader) -> None:
        await reader.open()
        await reader.to_the_end()
        await reader.press("1")
        panel, over = reader.panel, TextInputPanel("Something else")
        reader.app.open_panel(over)
        await reader.seat.shows("Something else")
        over.dismiss("")
        reader.burst("y", "o")
        await reader.seat.until(lambda: reader.app.screen is panel)
        await reader.reads()
        await reader.press("y", "o")
        assert panel.standing.stage is At.READING
        assert reader.approvals == []

    stage.show(read_by(act))


def test_f41_whoever_leaves_or_hangs_up_has_not_approved(stage: Stage) -> None:
    digest = proposed(stage)["digest"]

    async def hang_up(reader: Reader) -> None:
        await reader.open()
        await reader.to_the_end()
        await reader.press("1")
        reader.app.exit()

    async def leave(reader: Reader) -> None:
        await reader.open()
        await reader.to_the_end()
        await reader.press("1", "escape", "escape")
        await reader.closed()

    for act in (hang_up, leave):
        stage.show(read_by(act))
        row = stage.ok("status")["plan"]
        assert (row["digest"], row["approved"]) == (digest, False)


def test_f41_a_question_that_nobody_answers_stays_a_question(stage: Stage) -> None:
    proposed(stage)

    async def act(reader: Reader) -> None:
        await reader.open()
        await reader.to_the_end()
        await reader.press("1")
        for _ in range(50):
            await reader.seat.pilot.pause()
        assert reader.at() is At.CHOOSING
        assert reader.approvals == []

    stage.show(read_by(act))


def test_f46_a_plan_that_changed_under_the_panel_is_shown_anew_and_not_approved(
    stage: Stage,
) -> None:
    before = proposed(stage)["digest"]

    async def act(reader: Reader) -> None:
        await reader.open()
        await reader.to_the_end()
        await reader.press("1")
        stage.write("third.txt", LONG)
        after = stage.ok("propose")["digest"]
        await reader.press("y")
        await reader.reads()
        assert reader.approvals == []
        await reader.seat.shows(CHANGED)
        await reader.seat.shows(after[:12])
        assert before != after
        assert reader.panel.line_view.scroll_offset.y == 0
        assert not reader.panel.standing.read, "the new one has an end of its own"
        await reader.press("1")
        assert reader.at() is At.READING

    stage.show(read_by(act))


def test_f46_a_file_that_changed_under_the_panel_stops_the_yes(stage: Stage) -> None:
    (stage.root / "short.txt").write_bytes(b"old\n")
    proposed(stage)

    async def act(reader: Reader) -> None:
        await reader.open()
        await reader.to_the_end()
        (stage.root / "short.txt").write_bytes(b"somebody else's\n")
        await reader.press("1", "o")
        await reader.reads()
        assert reader.approvals == []
        await reader.seat.shows("Files changed since the plan was proposed")
        await reader.seat.shows("short.txt")
        await reader.to_the_end()
        await reader.press("1")
        assert reader.at() is At.READING

    stage.show(read_by(act))


def test_f41_letters_of_a_search_are_no_keys_even_when_the_paper_lost_them(stage: Stage) -> None:
    proposed(stage)

    async def act(reader: Reader) -> None:
        await reader.open()
        await reader.to_the_end()
        await reader.press("slash", "1", "y")
        assert reader.at() is At.READING
        await reader.seat.shows("/1y")
        reader.panel.set_focus(None)
        await reader.press("1")
        assert reader.at() is At.READING
        await reader.press("escape", "1")
        assert reader.approvals == []
        assert reader.at() is At.CHOOSING

    stage.show(read_by(act))


def read_across(seat: Seat) -> str:
    """Returns the letters on the screen without the frame, as if lines were not broken."""
    return "".join(line.strip("│ ") for line in seat.text().split("\n"))


@pytest.mark.parametrize("size", [(40, 14), (80, 24), (200, 60)])
def test_the_plan_can_be_read_and_approved_at_every_size(
    stage: Stage, size: tuple[int, int]
) -> None:
    digest = proposed(stage)["digest"]

    async def act(reader: Reader) -> None:
        await reader.open()
        await reader.seat.shows(digest[:12])
        assert digest not in read_across(reader.seat)
        await reader.to_the_end()
        await reader.press("1")
        await reader.seat.until(lambda: digest in read_across(reader.seat))
        await reader.press("o")
        await reader.closed()
        assert reader.approvals == [(digest, "terminal", "")]

    stage.show(read_by(act), size=size)


def test_f41_a_question_that_does_not_fit_on_the_screen_is_not_answered(stage: Stage) -> None:
    proposed(stage)

    async def act(reader: Reader) -> None:
        await reader.open()
        await reader.press("s", "1", "y")
        assert reader.at() is At.READING
        await reader.seat.rest()
        assert reader.approvals == []

    stage.show(read_by(act), size=(24, 6))


def test_a_rendered_text_is_one_key_away_and_decides_nothing(stage: Stage) -> None:
    stage.plan("work")
    stage.ok("plan", "write", "-", stdin=b"# Title\n\n**Strong** words\n<!-- hidden -->\n")
    stage.write("a.txt", b"a\n")
    stage.ok("propose")

    async def act(reader: Reader) -> None:
        await reader.open()
        view = reader.panel.line_view
        source = view.sections
        await reader.seat.shows("**Strong** words")
        await reader.to_the_end()
        reader.panel.standing = replace(reader.panel.standing, read=False)
        await reader.press("v")
        await reader.seat.shows("Strong words")
        await reader.seat.shows("<!-- hidden -->")
        assert "**" not in reader.seat.text()
        await reader.press("end")
        await reader.seat.rest()
        assert not reader.panel.standing.read
        for key in ("1", "3", "p", "v"):
            await reader.press(key)
            await reader.seat.shows("**Strong** words")
            assert reader.panel.standing.stage is At.READING
            assert [*view.sections] == [*source]
            await reader.press("v")
        assert reader.record.digest

    stage.show(read_by(act))
