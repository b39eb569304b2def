"""Writes the generated parts of the documentation, or checks that they are in step.

A part stands between `<!-- generated: NAME -->` and `<!-- end -->` in any Markdown file of the
project; NAME is a key of GENERATORS. To add one, write a function and name it in the table.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec

from assent.config.settings import MEANINGS, NAMED, Settings
from assent.core import errors
from assent.core.errors import AssentError
from assent.core.event import Event
from assent.core.llm import PROVIDERS
from assent.core.permission.sensitive_paths import EXECUTED_LATER, PROTECTED_PATHS
from assent.core.plan.operation import RISK_CODES, RISK_LEVELS
from assent.core.plan.record import TRANSITIONS, PlanAction, PlanState
from assent.core.plan.structure import HEADINGS
from assent.core.run.journal import JournalEntry
from assent.doctor.report import ENGINE
from assent.doctor.scratch import CHANNEL
from assent.doctor.scratch import ROWS as COPIES
from assent.doctor.shell import ROWS
from assent.llm.catalog import ModelCatalog
from assent.permissions.commands.read_only.classifier import TABLES
from assent.permissions.commands.read_only.spec import ReadOnlyCommandSpec
from assent.permissions.commands.read_only.tables import system as versions
from assent.sandbox.selftest.escape_tests import APPROVE, ESCAPE_TESTS, UNCHANGED
from assent.sandbox.selftest.limit_tests import LIMIT_TESTS
from assent.tools.aliases import ALIASES
from assent.tools.registry import TOOLS
from assent.tools.tool import tool_definition
from assent.web.api import ENDPOINTS
from assent.web.endpoint import Nothing
from assent.web.errors import STATUSES
from assent.web.openapi import error_words as error_words_of
from assent.web.openapi import needs, statuses

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
VECTORS = ROOT / "docs" / "vectors" / "plan-digest.json"
BLOCK = re.compile(r"(<!-- generated: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
# `path/file.py`, `file.py::name`, `path/file.py::Class.method`; below the root or src/assent.
REFERENCE = re.compile(r"`([a-z][\w./-]*\.(?:py|md|json|toml|sql))(?:::([\w.]+))?`")


def main(arguments: list[str]) -> int:
    """Brings every document in step, or with --check only names those that are not."""
    stale = dict(out_of_step())
    for path, text in stale.items():
        print(path.relative_to(ROOT))
        if "--check" not in arguments:
            path.write_text(text, encoding="utf-8")
    if stale and "--check" in arguments:
        print("These documents are out of step with the code. Run `make docs`.", file=sys.stderr)
        return 1
    for broken in broken_references():
        print(f"{broken} does not exist.", file=sys.stderr)
    return 1 if broken_references() else 0


def out_of_step() -> Iterator[tuple[Path, str]]:
    """Yields each document that differs from what it should say, with the text it should have."""
    for path in documents():
        text = path.read_text(encoding="utf-8")
        wanted = BLOCK.sub(_filled, text)
        if wanted != text:
            yield path, wanted


def broken_references() -> list[str]:
    """Lists what documents name although no such file, or no such name in it, exists."""
    return [
        f"{path.relative_to(ROOT)}: {reference[0]}"
        for path in documents()
        for reference in REFERENCE.finditer(path.read_text(encoding="utf-8"))
        if _is_ours(*reference.groups()) and not exists(*reference.groups())
    ]


def exists(path: str, name: str | None) -> bool:
    """Tells whether there is such a file below the root or the package, and such a name in it."""
    places = [place for place in (ROOT / path, SOURCE / "assent" / path) if place.is_file()]
    if not places or name is None:
        return bool(places)
    body = _statements(places[0])
    for part in name.split("."):
        found = [node for node in body if part in _names(node)]
        if not found:
            return False
        body = getattr(found[0], "body", [])
    return True


@cache  # documents name hundreds of tests, many of them in the same files
def _statements(path: Path) -> list[ast.stmt]:
    return ast.parse(path.read_bytes()).body


def documents() -> list[Path]:
    """Every Markdown file that may hold a generated part."""
    return sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def module_map() -> str:
    """A row per module: its name and the first line of its docstring."""
    rows = [(f"`{name}`", _purpose(path)) for name, path in _modules()]
    return _table(("Module", "What it answers"), rows)


def floors() -> str:
    """The floors from top to bottom; what has no code yet is left out."""
    tables = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = tables["tool"]["importlinter"]["contracts"][0]["layers"]
    lines = [[name for name in re.findall(r"\w+", layer) if _is_built(name)] for layer in layers]
    return "\n".join(["```", *["  ".join(names) for names in lines if names], "```"])


def lifecycle() -> str:
    """A row per moment, a column per state, and in the cell the state that follows."""
    rows = [
        (moment.value, *[TRANSITIONS.get((state, moment), "·") for state in PlanState])
        for moment in PlanAction
    ]
    return _table(("", *PlanState), rows)


def events() -> str:
    """A row per durable event, in the order of the union."""
    return _table(("Event", "Fields", "Meaning"), map(_struct_row, get_args(Event)))


def journal() -> str:
    """A row per entry of a run's journal."""
    return _table(("Entry", "Fields", "Meaning"), map(_struct_row, get_args(JournalEntry)))


def error_words() -> str:
    """A row per error: its word, its exit code, and the line of the tree that tells its meaning."""
    drawn = re.findall(r"^[│ ]*[├└]── (\w+) +(.+)$", errors.__doc__ or "", re.MULTILINE)
    kinds: list[tuple[type[AssentError], str]] = [
        (AssentError, "anything else that a person can do something about"),
        *[(getattr(errors, name), meaning) for name, meaning in drawn],
    ]
    kinds.sort(key=lambda pair: pair[0].exit)
    rows = [(f"`{kind.word}`", str(kind.exit), meaning) for kind, meaning in kinds]
    return _table(("`error`", "Exit code", "Meaning"), rows)


def settings() -> str:
    """A row per setting: its key, its default, its meaning."""
    rows = [(f"`{key}`", f"`{_default(key)}`", meaning) for key, meaning in MEANINGS.items()]
    return _table(("Setting", "Default", "Meaning"), rows)


def risk_codes() -> str:
    """A row per risk, the most severe first."""
    rows = [(f"`{code}`", RISK_LEVELS[code], words) for code, words in RISK_CODES.items()]
    return _table(("Code", "Level", "Meaning"), rows)


def plan_sections() -> str:
    """A row per section of a plan, with the headings that name it."""
    rows = [(f"`{kind}`", names) for kind, names in HEADINGS.items()]
    return _table(("Section", "Headings"), rows)


def protected_paths() -> str:
    """A row per reason, with the names that it protects."""
    rows = [(row.why, " ".join([f"`{name}`" for name in row.globs])) for row in PROTECTED_PATHS]
    return _table(("Why", "Names"), rows)


def executed_paths() -> str:
    """A row per kind of program, with the names of the files that it runs later."""
    rows = [(row.why, " ".join([f"`{name}`" for name in row.globs])) for row in EXECUTED_LATER]
    return _table(("Why", "Names"), rows)


def read_only() -> str:
    """A row per command that only reads, with the first of its own examples."""
    specs = [spec for table in TABLES if table is not versions.VERSION_COMMANDS for spec in table]
    found = [leaf for spec in specs for leaf in _leaves(spec)]
    rows = [(_code(leaf.name), _code(leaf.runs[0]), _code(leaf.refused[0])) for leaf in found]
    tools = ", ".join(sorted(_code(spec.name) for spec in versions.VERSION_COMMANDS))
    return (
        _table(("Command", "Runs, for example", "Refused, for example"), sorted(rows))
        + f"\n\nThese only tell their version, by `--version` or what else they call it: {tools}."
    )


def doctor_checks() -> str:
    """A row per check of the doctor, and for those of the sandbox whether they have a control."""
    engine = [(channel, row[0], "") for channel, rows in ENGINE.items() for row in rows.values()]
    shell = [("shell", tried, "") for tried in ROWS.values()]
    trials = (*ESCAPE_TESTS, UNCHANGED, APPROVE, *LIMIT_TESTS)
    sandbox = [(f"sandbox: {t.channel}", t.tried, "yes" if t.control else "") for t in trials]
    scratch = [(CHANNEL, tried, "") for tried in COPIES.values()]
    return _table(("Channel", "Tried", "Control"), [*engine, *shell, *sandbox, *scratch])


def plan_example() -> str:
    """One plan of the vectors, with the borders of all its fields."""
    vectors = msgspec.json.decode(VECTORS.read_bytes())
    plan = next(vector for vector in vectors["plans"] if vector["name"] == "one new file")
    expected = plan["expected"]
    (operation,) = expected["operations"]
    form, whole = bytes.fromhex(operation["bytes_hex"]), bytes.fromhex(expected["bytes_hex"])
    state = _unpacked(form)[3]
    lines = [
        f'text             "{plan["text"]}"'.replace("\n", "\\n"),
        f"content_hash     {expected['content_hash']}",
        "",
        f"operation        {len(form)} bytes, of which the last field is a state:",
        *_fields(form),
        f"state            {len(state)} bytes:",
        *_fields(state),
        f"id               {operation['id']}",
        f"operations_hash  {expected['operations_hash']}",
        "",
        f"plan             {len(whole)} bytes: no scope, nothing relied on",
        *_fields(whole),
        f"digest           {expected['digest']}",
    ]
    return "\n".join(["```", *lines, "```"])


def providers() -> str:
    """A row per provider that is known by name."""
    rows = [
        (
            f"`{provider.name}`",
            ", ".join(f"`{key}`" for key in provider.keys),
            f"`{provider.url}`",
            provider.wire,
            f"`{provider.default}`" if provider.default else "",
        )
        for provider in PROVIDERS
    ]
    return _table(("Provider", "Key", "Base URL, if not changed", "Wire", "Default"), rows)


def catalog() -> str:
    """A row per model of the catalogue."""
    known = [model for provider in PROVIDERS for model in ModelCatalog().of(provider.name)]
    rows = [
        (
            f"`{model.full}`",
            f"{model.context:,}" if model.context else "",
            f"{model.output:,}" if model.output else "",
            ", ".join(f"{price:g}" for price in msgspec.structs.astuple(model.prices))
            if model.prices
            else "",
        )
        for model in known
    ]
    return _table(("Model", "Context", "Output", "Prices"), rows)


def tools() -> str:
    """A row per tool: its arguments, those that may be left out in brackets, and its words."""
    rows = [
        (
            f"`{it.name}`",
            _arguments(it.schema),
            tool.action,
            "on demand" if tool.on_demand else "at once",
            _sentence(it.description),
        )
        for tool, it in [(tool, tool_definition(tool)) for tool in TOOLS]
    ]
    return _table(("Tool", "Arguments", "Action", "Offered", "What the model reads about it"), rows)


def aliases() -> str:
    """A row per tool with the names that are understood as well."""
    rows = [
        (f"`{tool.name}`", " ".join(f"`{a}`" for a, name in ALIASES.items() if name == tool.name))
        for tool in TOOLS
    ]
    return _table(("Tool", "Also called"), rows)


def endpoints() -> str:
    """A row per endpoint of the HTTP API."""
    rows = [
        (
            f"`{each.method} {each.path}`",
            each.summary,
            needs(each),
            f"`{each.body.__name__}`" if each.body is not Nothing else "",
            f"`{each.answer.__name__}`",
            " ".join(map(str, (each.status, *statuses(each)))),
        )
        for each in ENDPOINTS
    ]
    rows.append(
        ("`GET /events`", "What happens, live", "viewer", "", "", "200 400 401 403 404 503")
    )
    return _table(("Endpoint", "", "Role", "Body", "Answer", "Statuses"), rows)


def api_bodies() -> str:
    """A row per body that an endpoint takes."""
    kinds = {each.body for each in ENDPOINTS} - {Nothing}
    rows = []
    for kind in sorted(kinds, key=lambda kind: kind.__name__):
        fields = msgspec.structs.fields(kind)
        names = [f"`{f.encode_name}`" if f.required else f"[`{f.encode_name}`]" for f in fields]
        rows.append((f"`{kind.__name__}`", ", ".join(names), _sentence(kind.__doc__ or "")))
    return _table(("Body", "Fields", "Meaning"), rows)


def api_answers() -> str:
    """A row per answer of an endpoint."""
    rows = []
    for kind in sorted({each.answer for each in ENDPOINTS}, key=lambda kind: kind.__name__):
        extra: frozenset[str] = vars(kind)["__optional_keys__"]
        names = [f"[`{name}`]" if name in extra else f"`{name}`" for name in get_type_hints(kind)]
        rows.append((f"`{kind.__name__}`", ", ".join(names), _sentence(kind.__doc__ or "")))
    return _table(("Answer", "Fields", "Meaning"), rows)


def api_errors() -> str:
    """A row per status, with the error words that have it."""
    found = sorted(set(STATUSES.values()))
    rows = [(str(each), " ".join(f"`{word}`" for word in error_words_of(each))) for each in found]
    return _table(("Status", "`error`"), rows)


GENERATORS: dict[str, Callable[[], str]] = {
    "map": module_map,
    "floors": floors,
    "lifecycle": lifecycle,
    "events": events,
    "journal": journal,
    "errors": error_words,
    "settings": settings,
    "plan-sections": plan_sections,
    "risks": risk_codes,
    "protected": protected_paths,
    "executed": executed_paths,
    "read-only": read_only,
    "doctor": doctor_checks,
    "plan-example": plan_example,
    "providers": providers,
    "catalog": catalog,
    "tools": tools,
    "aliases": aliases,
    "endpoints": endpoints,
    "api-bodies": api_bodies,
    "api-answers": api_answers,
    "api-errors": api_errors,
}


def _filled(block: re.Match[str]) -> str:
    opening, name, closing = block.groups()
    return f"{opening}{GENERATORS[name]()}\n{closing}"


def _table(title: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    heads = list(title)
    lines = [f"| {' | '.join(line)} |" for line in [heads, *rows]]
    return "\n".join([lines[0], "|---" * len(heads) + "|", *lines[1:]])


def _arguments(schema: dict[str, Any]) -> str:
    needed = schema.get("required", [])
    names = [f"`{n}`" if n in needed else f"[`{n}`]" for n in schema["properties"]]
    return ", ".join(names)


def _leaves(spec: ReadOnlyCommandSpec) -> Iterator[ReadOnlyCommandSpec]:
    """Yields a command, if it may stand alone, and its sub-commands."""
    if spec.runs:
        yield spec
    for child in spec.children.values():
        yield from _leaves(child)


def _default(key: str) -> str:
    """Returns the default of a setting as JSON."""
    value: object = Settings()
    table, _, rest = key.partition(".")
    if table in NAMED:
        name, value = NAMED[table]
        key = rest.removeprefix(f"{name}.")
    for part in key.split("."):
        value = getattr(value, part)
    return msgspec.json.encode(value).decode()


def _code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|")


def _struct_row(cls: type[msgspec.Struct]) -> tuple[str, str, str]:
    names = ", ".join([f"`{field}`" for field in cls.__struct_fields__])
    return f"`{cls.__struct_config__.tag}`", names, _sentence(cls.__doc__ or "")


def _sentence(docstring: str) -> str:
    return " ".join(docstring.split()).replace("|", "\\|")


def _unpacked(packed: bytes) -> list[bytes]:
    fields = []
    while packed:
        end = 8 + int.from_bytes(packed[:8], "big")
        fields.append(packed[8:end])
        packed = packed[end:]
    return fields


def _fields(packed: bytes) -> list[str]:
    lines = []
    for field in _unpacked(packed):
        shown = f'"{field.decode("ascii")}"' if field[:1] != b"\0" else "the state below"
        lines.append(f"  {len(field):016x} {shown if field else '(empty)'}")
    return lines


def _is_built(name: str) -> bool:
    package = SOURCE / "assent" / name
    return package.is_dir() or package.with_suffix(".py").exists()


def _is_ours(path: str, name: str | None) -> bool:
    """Tells a reference from the name of somebody's file: it has a folder, or a name behind it."""
    return "/" in path or name is not None


def _names(node: ast.stmt) -> list[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Assign(targets=targets):
            return [target.id for target in targets if isinstance(target, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case _:
            return []


def _modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(SOURCE.rglob("*.py")):
        if path.stat().st_size:  # an empty __init__.py only marks a folder
            parts = path.relative_to(SOURCE).with_suffix("").parts
            yield ".".join(parts).removesuffix(".__init__"), path


def _purpose(path: Path) -> str:
    docstring = ast.get_docstring(ast.parse(path.read_bytes()))
    if not docstring:
        raise SystemExit(
            f"{path.relative_to(ROOT)} must begin with a line that says what it is for."
        )
    return docstring.splitlines()[0].replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
