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
    "mcp": ("assent.cli.mcp", "List MCP servers and their tools"),
    "memory": ("assent.cli.memory", "List and forget remembered facts"),
    "models": ("assent.cli.models", "List available models, or ask one"),
    "shell": ("assent.cli.shell", "Check and run read-only commands"),
    "scratch": ("assent.cli.scratch", "List, show and remove scratch copies"),
    "serve": ("assent.cli.serve", "Serve plans, reviews and sessions over HTTP"),
    "status": ("assent.cli.status", "Show the status of the current plan"),
    "log": ("assent.cli.log", "Show the event log"),
    "doctor": ("assent.cli.doctor", "Check that the safeguards hold on this machine"),
    "demo": ("assent.cli.demo", "Try Assent in a temporary project with a scripted model"),
    "debug": ("assent.cli.debug", "Show the prompt and tools a model gets"),
}

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

"""

_FOOT = """
Every command takes --json, -C DIR, --plan ID and --help.

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
    """Returns the help of the program as a whole."""
    width = max(map(len, COMMANDS))
    rows = [f"  {name:{width}}  {purpose}\n" for name, (_, purpose) in COMMANDS.items()]
    return _HEAD + "Commands:\n" + "".join(rows) + _FOOT
