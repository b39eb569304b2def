"""The tools of the session itself: `todo`, `question`, `remember`, `task`, `more_tools`.

And those of its plan: `write_plan`, `present_plan`, `rehearse`, `options` and `enter_plan`.
"""

from typing import Annotated

import msgspec

from assent.core.errors import UsageError
from assent.core.plan.plan import MAX_VERIFY, front_matter
from assent.core.session.event import Question, QuestionOption, Todo, TodoStatus
from assent.core.session.transcript import OFFERS
from assent.core.tool import (
    Action,
    DraftEffect,
    EnterPlanEffect,
    MemoryEffect,
    OptionsEffect,
    PlanTextEffect,
    PresentPlanEffect,
    QuestionsEffect,
    RehearseEffect,
    ResourceAccess,
    TaskEffect,
    TodosEffect,
    ToolOutcome,
    UnstageEffect,
)
from assent.tools.aliases import aliases_of, normalized_name
from assent.tools.file_edit import check_plan_text
from assent.tools.tool import HIDDEN_FIELD, SELF_EXPLAINING, OptionArgs, Tool, ToolContext

# todo: replaces the todo list (F127).


MAX_TODOS = 100
MARKS = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]", "cancelled": "[-]"}


class TodoItemArgs(msgspec.Struct, frozen=True):
    content: Annotated[str, msgspec.Meta(description="task")]
    status: Annotated[TodoStatus, msgspec.Meta(description="pending")] = "pending"


class TodoArgs(msgspec.Struct, frozen=True):
    todos: Annotated[list[TodoItemArgs], msgspec.Meta(description="all")]


def todo_touches(args: TodoArgs, context: ToolContext) -> tuple[ResourceAccess, ...]:
    return (ResourceAccess(Action.PLAN, "todos", "todowrite"),)


def run_todo(args: TodoArgs, context: ToolContext) -> ToolOutcome:
    """Returns the list, if it is consistent."""
    _check(args.todos)
    todos = tuple(Todo(" ".join(item.content.split()), item.status) for item in args.todos)
    lines = [f"{MARKS[todo.status]} {todo.content}" for todo in todos]
    done = sum(todo.status == "completed" for todo in todos)
    text = "\n".join(lines) or "The list is empty."
    return ToolOutcome(text, f"{done} of {len(todos)} done", effect=TodosEffect(todos))


def _check(items: list[TodoItemArgs]) -> None:
    if len(items) > MAX_TODOS:
        raise UsageError(f"todos: {len(items)} items given; the limit is {MAX_TODOS}.")
    blank = [at for at, item in enumerate(items) if not item.content.strip()]
    if blank:
        raise UsageError(f"todos[{blank[0]}].content: must not be blank. The list was not changed.")
    going = [at for at, item in enumerate(items) if item.status == "in_progress"]
    if len(going) > 1:
        places = ", ".join(f"todos[{at}]" for at in going)
        raise UsageError(f"{places}: only one may be in_progress. The list was not changed.")


TODO = Tool("todo", TodoArgs, todo_touches, run_todo, Action.PLAN)


# question: asks the user something that only they can decide (F129).


MAX_QUESTIONS, MAX_OPTIONS, MAX_HEADER_CHARS = 10, 20, 40


class QuestionChoiceArgs(msgspec.Struct, frozen=True):
    label: Annotated[str, msgspec.Meta(description="answer")]
    description: Annotated[str, msgspec.Meta(description="what it means")] = ""


class SingleQuestionArgs(msgspec.Struct, frozen=True):
    question: Annotated[str, msgspec.Meta(description="one sentence")]
    header: Annotated[str, HIDDEN_FIELD] = ""  # where it is missing, it comes from the question
    # Offered as labels alone, which is what most questions take; an answer may be explained.
    options: Annotated[
        list[QuestionChoiceArgs],
        msgspec.Meta(description="choices", extra_json_schema={"items": {"type": "string"}}),
    ] = []
    multiple: Annotated[bool, msgspec.Meta(description="several")] = False
    custom: Annotated[bool, HIDDEN_FIELD] = True  # free text, too


class QuestionArgs(msgspec.Struct, frozen=True):
    questions: Annotated[list[SingleQuestionArgs], msgspec.Meta(description="1 to 4")]


def question_touches(args: QuestionArgs, context: ToolContext) -> tuple[ResourceAccess, ...]:
    return (ResourceAccess(Action.PLAN, "question", "question"),)


def run_question(args: QuestionArgs, context: ToolContext) -> ToolOutcome:
    """Returns the questions, if each can be answered."""
    if not 0 < len(args.questions) <= MAX_QUESTIONS:
        raise UsageError(f"questions: send 1 to {MAX_QUESTIONS} at once.")
    for at, wanted in enumerate(args.questions):
        if wrong := _wrong(wanted):
            raise UsageError(f"questions[{at}].{wrong} The user was not asked.")
    asked = tuple(_question(wanted) for wanted in args.questions)
    title = asked[0].header if len(asked) == 1 else f"{len(asked)} questions"
    return ToolOutcome("The user is asked.", title, effect=QuestionsEffect(asked))


def _wrong(wanted: SingleQuestionArgs) -> str:
    labels = [choice.label.strip() for choice in wanted.options]
    checks = (
        (len(wanted.header) > MAX_HEADER_CHARS, f"header: {MAX_HEADER_CHARS} characters at most."),
        (not wanted.question.strip(), "question: must not be blank."),
        (not all(labels), "options: a label is blank."),
        (len(set(labels)) < len(labels), "options: two labels are the same."),
        (len(labels) > MAX_OPTIONS, f"options: {MAX_OPTIONS} at most."),
        (not labels and not wanted.custom, "options: none given, and free text is off."),
    )
    return next((words for wrong, words in checks if wrong), "")


def _header(question: str) -> str:
    """Returns the question's first words as a header."""
    words, header = question.split(), ""
    for word in words:
        if len(header) + len(word) >= MAX_HEADER_CHARS:
            break
        header = f"{header} {word}".strip()
    return header.rstrip(".,:;?!") or question.strip()[:MAX_HEADER_CHARS]


def _question(wanted: SingleQuestionArgs) -> Question:
    options = tuple(
        QuestionOption(choice.label.strip(), choice.description) for choice in wanted.options
    )
    header = wanted.header.strip() or _header(wanted.question)
    return Question(header, wanted.question, options, wanted.multiple, wanted.custom)


QUESTION = Tool("question", QuestionArgs, question_touches, run_question, Action.PLAN)


# remember: stores one short fact about the workspace for later sessions.


MAX_MEMORY_CHARS = 500  # characters


class RememberArgs(msgspec.Struct, frozen=True):
    fact: Annotated[str, msgspec.Meta(description="one sentence")]


def remember_touches(args: RememberArgs, context: ToolContext) -> tuple[ResourceAccess, ...]:
    return (ResourceAccess(Action.PLAN, "facts", "remember"),)


def run_remember(args: RememberArgs, context: ToolContext) -> ToolOutcome:
    """Returns the fact on one line."""
    fact = " ".join(args.fact.split())
    if not 0 < len(fact) <= MAX_MEMORY_CHARS:
        raise UsageError(
            f"fact: must have 1 to {MAX_MEMORY_CHARS} characters, but has {len(fact)}."
        )
    return ToolOutcome(f"Remembered: {fact}", "fact", effect=MemoryEffect(fact))


REMEMBER = Tool(
    "remember",
    RememberArgs,
    remember_touches,
    run_remember,
    Action.PLAN,
    on_demand="facts",
)


# task: lets a sub-agent work on something in its own session (F100).


MAX_PROMPT_CHARS, MAX_TITLE_CHARS = 100_000, 80  # characters


class TaskArgs(msgspec.Struct, frozen=True):
    prompt: Annotated[str, msgspec.Meta(description="the whole task")]
    agent: Annotated[str, msgspec.Meta(description="sub-agent type")] = "explore"
    description: Annotated[str, msgspec.Meta(description="short title")] = ""
    session: Annotated[str, msgspec.Meta(description="one to continue")] = ""
    background: Annotated[bool, msgspec.Meta(description="result comes later as a message")] = False


def task_touches(args: TaskArgs, context: ToolContext) -> tuple[ResourceAccess, ...]:
    name = args.agent.strip()
    if context.kinds is not None and name not in context.kinds:
        listed = ", ".join(context.kinds) or "none"
        raise UsageError(
            f"Sub-agent type {name!a} not found. Available: {listed}. No sub-agent was started."
        )
    return (ResourceAccess(Action.TASK, name),)


def run_task(args: TaskArgs, context: ToolContext) -> ToolOutcome:
    """Returns the task, if an agent is available for it."""
    if not args.prompt.strip():
        raise UsageError("prompt: must not be blank. No sub-agent was started.")
    if len(args.prompt) > MAX_PROMPT_CHARS:
        raise UsageError(
            f"prompt: {MAX_PROMPT_CHARS} characters at most. No sub-agent was started."
        )
    title = title_of(args)
    task = TaskEffect(args.prompt, title, args.agent.strip(), args.session.strip(), args.background)
    return ToolOutcome("A sub-agent is working on it.", f"{task.agent}: {title}", effect=task)


def title_of(args: TaskArgs) -> str:
    return _title(args.description) or _title(args.prompt)


def _title(text: str) -> str:
    """Returns the first line of a text, shortened."""
    words = " ".join(text.strip().partition("\n")[0].split())
    return words if len(words) <= MAX_TITLE_CHARS else f"{words[: MAX_TITLE_CHARS - 1]}…"


TASK = Tool(
    "task",
    TaskArgs,
    task_touches,
    run_task,
    Action.TASK,
    title=title_of,
    on_demand="sub-agents",
)


# write_plan: replaces the plan's text.


class WritePlanArgs(OptionArgs, frozen=True):
    text: Annotated[str, msgspec.Meta(description="Markdown")]
    # Starts another plan of that name; not offered, as models named their plan by it.
    name: Annotated[str, HIDDEN_FIELD] = ""


def write_plan_touches(args: WritePlanArgs, context: ToolContext) -> tuple[ResourceAccess, ...]:
    return (ResourceAccess(Action.PLAN, args.name or "plan", "write_plan"),)


def run_write_plan(args: WritePlanArgs, context: ToolContext) -> ToolOutcome:
    """Returns the text as the plan's new text."""
    check_plan_text(args.text)
    return ToolOutcome(
        "The plan's text was written.", "plan", effect=PlanTextEffect(args.text, args.name)
    )


WRITE_PLAN = Tool(
    "write_plan", WritePlanArgs, write_plan_touches, run_write_plan, Action.PLAN, only="plan"
)


def _rehearsed(lines: tuple[str, ...], context: ToolContext) -> tuple[ResourceAccess, ...]:
    """Returns the commands that a model chose, here or in the plan's text, as if it staged them."""
    chosen = lines or front_matter(context.plan_text()).verify
    own = [ResourceAccess(Action.SHELL, line.strip(), stage=True, tries=True) for line in chosen]
    return (ResourceAccess(Action.PLAN, "draft", "rehearse"), *own)


# present_plan: freezes the plan and shows it to the user, who decides (F35).


class PresentPlanArgs(msgspec.Struct, frozen=True):
    rehearse: Annotated[bool, msgspec.Meta(description="try it first")] = False
    options: Annotated[list[str], HIDDEN_FIELD] = []  # labels; without them, the session's plan


def present_plan_touches(args: PresentPlanArgs, context: ToolContext) -> tuple[ResourceAccess, ...]:
    """Returns what a rehearsal would run, too: commands that the plan's text names for it."""
    own = _rehearsed((), context) if args.rehearse else ()
    return (ResourceAccess(Action.PRESENT, "plan"), *own)


def run_present_plan(args: PresentPlanArgs, context: ToolContext) -> ToolOutcome:
    """Returns the request; the engine refuses it for an empty plan."""
    return ToolOutcome(
        "The plan is presented; the user decides.",
        "plan",
        effect=PresentPlanEffect(tuple(args.options), args.rehearse),
    )


PRESENT_PLAN = Tool(
    "present_plan",
    PresentPlanArgs,
    present_plan_touches,
    run_present_plan,
    Action.PRESENT,
    only="plan",
    includes=("rehearse",),
)


# options: drafts several plans for the user to choose from (G22).


class OptionsArgs(OptionArgs, frozen=True):
    drop: Annotated[str, msgspec.Meta(description="label to remove")] = ""


def options_touches(args: OptionsArgs, context: ToolContext) -> tuple[ResourceAccess, ...]:
    return (ResourceAccess(Action.PLAN, "options", "options"),)


def run_options(args: OptionsArgs, context: ToolContext) -> ToolOutcome:
    """Returns the request; the engine lists the options, and selects or drops one."""
    return ToolOutcome("", "options", effect=OptionsEffect(args.drop))


OPTIONS = Tool(
    "options",
    OptionsArgs,
    options_touches,
    run_options,
    Action.PLAN,
    only="plan",
    on_demand="2 or 3 plans",
)


# unstage and draft: take operations out of the draft, and list what is in it.


class UnstageArgs(OptionArgs, frozen=True):
    ids: Annotated[list[str], msgspec.Meta(description="7 characters each")]


def unstage_touches(args: UnstageArgs, context: ToolContext) -> tuple[ResourceAccess, ...]:
    return (ResourceAccess(Action.PLAN, "draft", "unstage"),)


def run_unstage(args: UnstageArgs, context: ToolContext) -> ToolOutcome:
    """Returns the request; the engine takes the operations out, and says which stay and why."""
    ids = tuple(each.strip() for each in args.ids if each.strip())
    if not ids:
        raise UsageError("ids: must not be empty. Nothing was taken out.")
    return ToolOutcome("", ", ".join(each[:12] for each in ids), effect=UnstageEffect(ids))


UNSTAGE = Tool(
    "unstage",
    UnstageArgs,
    unstage_touches,
    run_unstage,
    Action.PLAN,
    only="plan",
    on_demand=SELF_EXPLAINING,
)


class DraftArgs(OptionArgs, frozen=True):
    diff: Annotated[bool, msgspec.Meta(description="with diffs")] = False


def draft_touches(args: DraftArgs, context: ToolContext) -> tuple[ResourceAccess, ...]:
    return (ResourceAccess(Action.PLAN, "draft", "draft"),)


def run_draft(args: DraftArgs, context: ToolContext) -> ToolOutcome:
    """Returns the request; the engine lists the operations.

    A draft may delete what the model may not read, and the user can stage any file.
    """
    paths = filter(context.readable, context.overlay.drafted()) if args.diff else ()
    return ToolOutcome("", "draft", effect=DraftEffect(args.diff, frozenset(paths)))


DRAFT = Tool(
    "draft",
    DraftArgs,
    draft_touches,
    run_draft,
    Action.PLAN,
    only="plan",
    on_demand="list operations",
)


# rehearse: tries the draft in a scratch copy, before it is presented (G12).


class RehearseArgs(OptionArgs, frozen=True):
    commands: Annotated[tuple[str, ...], msgspec.Meta(description="tests")] = ()


def rehearse_touches(args: RehearseArgs, context: ToolContext) -> tuple[ResourceAccess, ...]:
    return _rehearsed(_command_lines(args), context)


def run_rehearse(args: RehearseArgs, context: ToolContext) -> ToolOutcome:
    """Returns the request; the engine tries the draft, and says what passed."""
    lines = _command_lines(args)
    if len(lines) > MAX_VERIFY:
        raise UsageError(f"commands: {MAX_VERIFY} at most. Nothing was run.")
    return ToolOutcome("", "; ".join(lines) or "draft", effect=RehearseEffect(lines))


def _command_lines(args: RehearseArgs) -> tuple[str, ...]:
    return tuple(line.strip() for line in args.commands if line.strip())


REHEARSE = Tool(
    "rehearse",
    RehearseArgs,
    rehearse_touches,
    run_rehearse,
    Action.PLAN,
    only="plan",
    on_demand=SELF_EXPLAINING,
)


# enter_plan: asks the user to go back to planning.


class EnterPlanArgs(msgspec.Struct, frozen=True):
    reason: Annotated[str, msgspec.Meta(description="shown to the user")] = ""


def enter_plan_touches(args: EnterPlanArgs, context: ToolContext) -> tuple[ResourceAccess, ...]:
    return (ResourceAccess(Action.PLAN, "mode", "plan_enter"),)


def run_enter_plan(args: EnterPlanArgs, context: ToolContext) -> ToolOutcome:
    """Returns the request; the engine asks the user."""
    return ToolOutcome(
        "The user is asked to switch to plan mode.",
        "plan mode",
        effect=EnterPlanEffect(args.reason),
    )


ENTER_PLAN = Tool(
    "enter_plan", EnterPlanArgs, enter_plan_touches, run_enter_plan, Action.PLAN, only="build"
)


# more_tools: asks for tools that the first request leaves out, because most sessions need none.


class MoreToolsArgs(msgspec.Struct, frozen=True):
    names: Annotated[list[str], msgspec.Meta(description="of this list")]


def more_tools_touches(args: MoreToolsArgs, context: ToolContext) -> tuple[ResourceAccess, ...]:
    return (MORE_TOOLS_ACCESS,)


def run_more_tools(args: MoreToolsArgs, context: ToolContext) -> ToolOutcome:
    """Returns which of the named tools are offered from now on; the gate judges their calls."""
    wanted = {normalized_name(name.strip()) for name in args.names}
    found = [
        name for name in context.on_demand if wanted & {normalized_name(name), *aliases_of(name)}
    ]
    if not found:
        listed = ", ".join(context.on_demand) or "none"
        raise UsageError(
            f"names: choose from these: {listed}. All other tools that there are here are already "
            "offered."
        )
    text = f"You can call these from your next answer on: {', '.join(found)}."
    return ToolOutcome(text, ", ".join(found), metadata={OFFERS: found})


MORE_TOOLS_ACCESS = ResourceAccess(Action.PLAN, "tools", "more_tools")
MORE_TOOLS = Tool("more_tools", MoreToolsArgs, more_tools_touches, run_more_tools, Action.PLAN)
