"""`assent rules explain`: which rule, mode or answer decides about a call."""

from contextlib import closing

import click

from assent.app.explanation import explain, explain_context, is_known
from assent.app.session import InvocationOptions, SessionOptions, open_session_runtime
from assent.cli.asker import DenyingAsker
from assent.cli.invocation import Invocation, examples, reference_option, with_invocation
from assent.cli.render.rules_explain import explanation_lines, explanation_row
from assent.core.errors import UsageError

HELP = "assent rules explain edit src/a.py"


@click.command(
    "explain",
    epilog=examples(
        "assent rules explain bash 'git push origin main'\n"
        "assent rules explain edit src/a.py --mode auto-edit\n"
        "assent rules explain bash 'make test' --session brave-otter --deny 'bash:make *'\n"
        "assent rules explain --tool write src/a.py --agent explore --json"
    ),
)
@click.argument("words", metavar="[PERMISSION] RESOURCE", nargs=-1, required=True)
@click.option("--tool", default="", help="Name a tool in place of the permission.")
@click.option("--mode", default="", help="The mode, also one of your own.")
@click.option("--agent", default="", help="The agent (default: the mode's own).")
@click.option("--session", callback=reference_option, metavar="ID", help="As if in this session.")
@click.option("--allow", multiple=True, metavar="RULE", help="As if started with this.")
@click.option("--ask", multiple=True, metavar="RULE", help="As if started with this.")
@click.option("--deny", multiple=True, metavar="RULE", help="As if started with this.")
@with_invocation
def explain_call(
    call: Invocation,
    words: tuple[str, ...],
    tool: str,
    session: str,
    **chosen: tuple[str, ...] | str,
) -> None:
    """Say what would become of a call, and who decides.

    It names the rule of each layer. Hooks and the loop guard are not asked, and nothing is done.
    """
    word, resource = _about(words, tool)
    mode, agent = str(chosen.pop("mode")), str(chosen.pop("agent"))
    rules = tuple(f"{answer} {rule}" for answer, typed in chosen.items() for rule in typed)
    wanted = SessionOptions(None, agent, choices=InvocationOptions(rules, servers=False))
    with closing(open_session_runtime(call.folder, DenyingAsker(), wanted)) as work:
        seat = explain_context(work, mode, agent, session)
        if tool and not is_known(seat, tool):
            names = ", ".join(sorted(work.tooling.dispatcher.names))
            raise UsageError(f"There is no tool {tool!a}. There are: {names}.")
        row = {
            "mode": seat.mode,
            "base": seat.around.posture.mode,
            "agent": seat.agent.name,
            "session": seat.record.slug or None,
            **explanation_row(explain(seat, word, resource)),
        }
        call.output.answer(row, explanation_lines(row))
        call.output.warn((*work.warnings, *work.engine.warnings))


def _about(words: tuple[str, ...], tool: str) -> tuple[str, str]:
    """Returns the word that stands for the call, and what it is about."""
    if len(words) != (1 if tool else 2):
        raise UsageError(
            "Name a permission and what it is about, or --tool and what it is about.", HELP
        )
    return (tool, words[0]) if tool else (words[0], words[1])
