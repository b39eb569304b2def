"""The table of commands: where each is implemented and what it is for, without loading any."""

COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("assent.cli.init", "Set up this folder as a workspace"),
    "plan": ("assent.cli.plan", "Create, write, list, show and delete plans"),
    "stage": ("assent.cli.stage", "Stage exact file changes and commands"),
    "propose": ("assent.cli.approve", "Freeze a plan and give it a digest"),
    "review": ("assent.cli.review", "Show a plan's risks, text and diffs"),
    "diff": ("assent.cli.review", "Show staged changes, or edits to the plan text"),
    "rehearse": ("assent.cli.rehearse", "Try a plan in a scratch copy before you approve it"),
    "approve": ("assent.cli.approve", "Approve a plan by its digest"),
    "reject": ("assent.cli.approve", "Reject a plan and say why"),
    "comment": ("assent.cli.comment", "Comment on plan lines; comments are sent when you reject"),
    "rebase": ("assent.cli.rebase", "Adapt a plan to files that changed"),
    "build": ("assent.cli.build", "Apply an approved plan, exactly and once"),
    "undo": ("assent.cli.undo", "Undo a run"),
    "redo": ("assent.cli.undo", "Redo an undone run"),
    "runs": ("assent.cli.runs", "List, inspect and prune past runs"),
    "recover": ("assent.cli.build", "Finish or roll back an interrupted run"),
    "sessions": ("assent.cli.sessions", "List, show, fork, export and delete sessions"),
    "waiting": ("assent.cli.waiting", "List everything waiting for you, in all sessions"),
    "questions": ("assent.cli.questions", "List and answer pending questions"),
    "rules": ("assent.cli.rules", "Manage permission rules"),
    "modes": ("assent.cli.modes", "List, show, export and import custom modes"),
    "trust": ("assent.cli.trust", "Trust a project's files by their content"),
    "keys": ("assent.cli.keys", "List, trust and revoke keys that approve bundles"),
    "export": ("assent.cli.evidence", "Export signed evidence of a run"),
    "verify": ("assent.cli.evidence", "Verify evidence of a run, offline"),
    "mcp": ("assent.cli.mcp", "Add, remove and list MCP servers and their tools"),
    "memory": ("assent.cli.memory", "List and forget remembered facts"),
    "login": ("assent.cli.login", "Store the API key of a provider"),
    "logout": ("assent.cli.login", "Remove the stored API key of a provider"),
    "config": ("assent.cli.config", "Show and change settings"),
    "agents": ("assent.cli.agents", "List and show agents"),
    "models": ("assent.cli.models", "List available models, or ask one"),
    "shell": ("assent.cli.shell", "Check and run read-only commands"),
    "scratch": ("assent.cli.scratch", "List, show and remove scratch copies"),
    "serve": ("assent.cli.serve", "Serve plans, reviews and sessions over HTTP"),
    "status": ("assent.cli.status", "Show the status of the current plan"),
    "log": ("assent.cli.log", "Show the event log"),
    "doctor": ("assent.cli.doctor", "Check that the safeguards hold on this machine"),
    "demo": ("assent.cli.demo", "Try Assent in a temporary project with a scripted model"),
    "help": ("assent.cli.help", "Show the documentation of a topic"),
    "completion": ("assent.cli.completion", "Print a completion script for bash, zsh or fish"),
    "debug": ("assent.cli.debug", "Show the prompt and tools a model gets"),
}

# How `assent --help` shows them: what people use every day first.
EVERYDAY = (
    "login", "status", "review", "approve", "reject", "build", "undo", "sessions", "config", "demo",
)  # fmt: skip
GROUPS = {
    "Plans": (
        "init", "plan", "stage", "propose", "diff", "rehearse", "comment", "rebase",
    ),
    "Runs": ("runs", "redo", "recover", "export", "verify", "log"),
    "Sessions and questions": ("waiting", "questions", "memory", "scratch"),
    "Setup": ("logout", "models", "agents", "modes", "mcp", "completion"),
    "Trust and safety": ("rules", "trust", "keys", "shell", "doctor"),
    "More": ("help", "serve", "debug"),
}  # fmt: skip

_HEAD = """Assent: a coding agent that plans first. Only the exact changes you approve are applied.

Usage: assent [-C DIR] [OPTIONS]
       assent [-C DIR] [OPTIONS] "GOAL"
       assent [-C DIR] -p [OPTIONS] ["TEXT"]
       assent [-C DIR] COMMAND [OPTIONS]

Without a goal or command, Assent opens its terminal UI. -c, -r, --mode, --model, --agent and --plan
set what it opens with.

A goal goes to a model, which explores, plans and stages changes. Piped input is added to the goal.
Quote the goal: assent "fix the tests". A single word needs -p.

  -p, --print             don't prompt; for scripts and pipes
  -c, --continue          continue the last session
  -r, --resume ID         continue a session
  --mode MODE             plan, ask, auto-edit, yolo, or a custom mode
  --model NAME            model, as PROVIDER/MODEL or scripted:FILE
  --agent NAME            agent to use
  --plan ID               continue the session of a plan
  --output-format FORMAT  text, json (same as --json) or stream-json
  --allow KEY:PATTERN     allow without asking, this time; also --ask and --deny
  --auto                  allow what would be asked; plan mode and deny rules still apply
  --ask-later             leave questions open for `assent questions answer`
  --max-turns N           limit requests to the model
  --max-tokens N          limit tokens
  --max-budget USD        limit cost in dollars
  --max-time S            limit time in seconds
  --no-input              don't prompt; deny instead
  -q, --quiet             print no progress and no notes on stderr

"""

_FOOT = """
Every command takes --json, -C DIR, --plan ID, --quiet and --help.
`assent help topics` lists the documentation.

Create a plan with a model:
  assent "Add a --version option"
  assent review
  assent approve --build

Create a plan yourself:
  assent plan new greet --goal "Say hello"
  echo hello | assent stage write hello.txt --from -
  assent propose && assent review
  assent approve && assent build
"""


def overview() -> str:
    """Returns the help of the program as a whole: everyday commands, then the rest by group."""
    width = max(map(len, COMMANDS))
    parts = [_listed("Everyday commands", EVERYDAY, width)]
    parts += [_listed(title, names, width) for title, names in GROUPS.items()]
    return _HEAD + "\n".join(parts) + _FOOT


def _listed(title: str, names: tuple[str, ...], width: int) -> str:
    rows = [f"  {name:{width}}  {COMMANDS[name][1]}\n" for name in names]
    return f"{title}:\n{''.join(rows)}"
