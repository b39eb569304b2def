"""The tool registry: every tool that a model may call, in the order in which it is offered."""

from assent.tools.delete import DELETE
from assent.tools.edit import EDIT
from assent.tools.enter_plan import ENTER_PLAN
from assent.tools.fetch import FETCH
from assent.tools.git import GIT
from assent.tools.glob import GLOB
from assent.tools.grep import GREP
from assent.tools.list import LIST
from assent.tools.move import MOVE
from assent.tools.multi_edit import MULTI_EDIT
from assent.tools.notebook_edit import NOTEBOOK_EDIT
from assent.tools.patch import PATCH
from assent.tools.present_plan import PRESENT_PLAN
from assent.tools.question import QUESTION
from assent.tools.read import READ
from assent.tools.remember import REMEMBER
from assent.tools.search import SEARCH
from assent.tools.shell import SHELL
from assent.tools.task import TASK
from assent.tools.todo import TODO
from assent.tools.tool import Tool
from assent.tools.write import WRITE
from assent.tools.write_plan import WRITE_PLAN

TOOLS: tuple[Tool, ...] = (
    READ,
    LIST,
    GLOB,
    GREP,
    SEARCH,
    GIT,
    SHELL,
    FETCH,
    WRITE,
    EDIT,
    MULTI_EDIT,
    PATCH,
    DELETE,
    MOVE,
    NOTEBOOK_EDIT,
    WRITE_PLAN,
    TODO,
    QUESTION,
    PRESENT_PLAN,
    ENTER_PLAN,
    REMEMBER,
    TASK,
)
