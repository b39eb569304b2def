"""The tool registry: every tool that a model may call, in the order in which it is offered."""

from assent.tools.command_tools import GIT, SHELL
from assent.tools.edit_tools import DELETE, EDIT, MOVE, WRITE
from assent.tools.fetch import FETCH
from assent.tools.find_tools import GLOB, LIST
from assent.tools.notebook_edit import NOTEBOOK_EDIT
from assent.tools.patch import PATCH
from assent.tools.read import READ
from assent.tools.search_tools import GREP, SEARCH
from assent.tools.session_tools import (
    DRAFT,
    ENTER_PLAN,
    MORE_TOOLS,
    OPTIONS,
    PRESENT_PLAN,
    QUESTION,
    REHEARSE,
    REMEMBER,
    TASK,
    TODO,
    UNSTAGE,
    WRITE_PLAN,
)
from assent.tools.tool import Tool

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
    PATCH,
    DELETE,
    MOVE,
    NOTEBOOK_EDIT,
    WRITE_PLAN,
    TODO,
    QUESTION,
    PRESENT_PLAN,
    OPTIONS,
    UNSTAGE,
    DRAFT,
    REHEARSE,
    ENTER_PLAN,
    REMEMBER,
    TASK,
    MORE_TOOLS,
)
