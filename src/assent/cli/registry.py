"""The table of commands: where each is implemented and what it is for, without loading any."""

COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("assent.cli.init", "Make this folder a workspace"),
    "plan": ("assent.cli.plan", "Make, write, list, show and delete plans"),
    "stage": ("assent.cli.stage", "Stage exact file operations"),
    "propose": ("assent.cli.approve", "Freeze the plan and give it a digest"),
    "review": ("assent.cli.review", "Show risks, text and every diff"),
    "diff": ("assent.cli.review", "Show what is staged, or how the live text differs"),
    "approve": ("assent.cli.approve", "Say yes to one digest"),
    "reject": ("assent.cli.approve", "Say no, with words"),
    "comment": ("assent.cli.comment", "Comment lines of a plan; a no sends the comments"),
    "rebase": ("assent.cli.rebase", "Make a plan fit files that changed meanwhile"),
    "build": ("assent.cli.build", "Apply exactly what was approved, once"),
    "undo": ("assent.cli.undo", "Take a run back, by a plan of its own"),
    "redo": ("assent.cli.undo", "Take an undo back"),
    "runs": ("assent.cli.runs", "List, show and give up what can be undone"),
    "recover": ("assent.cli.build", "Finish or revert an interrupted run"),
    "sessions": ("assent.cli.sessions", "List, show, fork, export and delete sessions"),
    "waiting": ("assent.cli.waiting", "List everything that waits for you, in all sessions"),
    "questions": ("assent.cli.questions", "List and answer what waits for a person"),
    "rules": ("assent.cli.rules", "List, explain, test and revoke what may happen unasked"),
    "modes": ("assent.cli.modes", "List, show, export and import modes of your own"),
    "trust": ("assent.cli.trust", "Let a project's own files do what they say, by content"),
    "keys": ("assent.cli.keys", "List, trust and revoke keys that approve plans from elsewhere"),
    "export": ("assent.cli.evidence", "Write evidence of a run that others can verify"),
    "verify": ("assent.cli.evidence", "Check evidence, offline, by a public key"),
    "mcp": ("assent.cli.mcp", "List servers of tools, and what their tools may do"),
    "memory": ("assent.cli.memory", "List and forget what is remembered here"),
    "models": ("assent.cli.models", "List the models that can be used here, and ask one"),
    "shell": ("assent.cli.shell", "Judge and run commands that only read"),
    "status": ("assent.cli.status", "Show where the current plan stands"),
    "log": ("assent.cli.log", "Show everything that happened"),
    "doctor": ("assent.cli.doctor", "Try on this machine what must not be possible"),
    "demo": ("assent.cli.demo", "Try it all in a scratch folder, on a model that is a script"),
    "debug": ("assent.cli.debug", "Show what a model is told, and which tools it gets"),
}

_HEAD = """\
Assent: an AI plans; a person assents to exact bytes; exactly those bytes happen.

Usage: assent [-C DIR] [OPTIONS]
       assent [-C DIR] [OPTIONS] "GOAL"
       assent [-C DIR] -p [OPTIONS] ["TEXT"]
       assent [-C DIR] COMMAND [OPTIONS]

Without a word it opens the screen, if it is started on a terminal; -c, -r, --mode, --model, --agent
and --plan say what it opens with.

A goal goes to a model, which explores, plans and stages; what is piped in goes with it. A goal is
one text in quotes with a blank in it; behind -p, -c or -r any text is one.

  -p, --print             never ask: for scripts and pipes
  -c, --continue          go on with the last session
  -r, --resume ID         go on with a session
  --mode MODE             plan, ask, auto-edit, yolo, or a mode of your own
  --model NAME            the model, as PROVIDER/MODEL or scripted:FILE
  --agent NAME            the agent
  --plan ID               go on with the session of a plan
  --output-format FORMAT  text, json (also --json) or stream-json
  --allow KEY:PATTERN     runs without asking, this time; also --ask and --deny
  --auto                  runs what would be asked; plan mode and denials hold
  --ask-later             leaves questions open, for `assent questions answer`
  --max-turns N           most requests to the model
  --max-tokens N          most tokens
  --max-budget USD        most dollars
  --max-time S            most seconds
  --no-input              never ask; what would be asked is a no

"""

_FOOT = """
Every command takes --json, -C DIR, --plan ID and --help.

A first plan, by a model:
  assent "Add a --version option"
  assent review
  assent approve --build

And by hand:
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
