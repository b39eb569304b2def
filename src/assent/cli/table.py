"""The commands of Assent: where each is implemented and what it is for, without loading any."""

COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("assent.cli.start", "Make this folder a workspace"),
    "plan": ("assent.cli.plan", "Make, write, list, show and delete plans"),
    "stage": ("assent.cli.stage", "Stage exact file operations"),
    "propose": ("assent.cli.consent", "Freeze the plan and give it a digest"),
    "review": ("assent.cli.reading", "Show risks, text and every diff"),
    "diff": ("assent.cli.reading", "Show what is staged, or how the live text differs"),
    "approve": ("assent.cli.consent", "Say yes to one digest"),
    "reject": ("assent.cli.consent", "Say no, with words"),
    "build": ("assent.cli.run", "Apply exactly what was approved, once"),
    "undo": ("assent.cli.run", "Take a run back, by a plan of its own"),
    "recover": ("assent.cli.run", "Finish or revert an interrupted run"),
    "models": ("assent.cli.models", "List the models that can be used here, and ask one"),
    "shell": ("assent.cli.shell", "Judge and run commands that only read"),
    "status": ("assent.cli.reading", "Show where the current plan stands"),
    "log": ("assent.cli.reading", "Show everything that happened"),
    "doctor": ("assent.cli.doctor", "Try on this machine what must not be possible"),
}

_HEAD = """\
Assent: an AI plans; a person assents to exact bytes; exactly those bytes happen.

Usage: assent [-C DIR] COMMAND [OPTIONS]

"""

_FOOT = """
Every command takes --json, -C DIR, --plan ID and --help.

A first plan:
  assent plan new greet --goal "Say hello"
  echo hello | assent stage write hello.txt --from -
  assent propose && assent review
  assent approve && assent build
"""


def overview() -> str:
    """Returns the help of the program as a whole."""
    width = max(map(len, COMMANDS))
    rows = [f"  {name:{width}}  {purpose}\n" for name, (_, purpose) in COMMANDS.items()]
    return _HEAD + "Commands:\n" + "".join(rows) + _FOOT
