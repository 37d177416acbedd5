"""Write the reference pages of Python, REST and MCP from signatures, docstrings and schemas.

Run as ``python -m tools.document_reference``. The part above the mark of a page is written by hand.
A test compares the result with the committed pages.
"""

from __future__ import annotations

import ast
import inspect
import re
import tempfile
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Final, get_args

from treering import (
    IngestReport,
    SpaceCopy,
    backup,
    bulk_ingest,
    copy_space,
    errors,
    records,
)
from treering.chat.answer import Answer
from treering.chat.prompt import ChatPrompt
from treering.chat.stream import ChatStream
from treering.hints import Hint, words
from treering.ingest.where import Where
from treering.memory import Memory
from treering.search.brief import Brief, BriefLine
from treering.serve.app import create_app
from treering.serve.mcp import server, tools
from treering.serve.settings import ServerSettings
from treering.testing import FakeLLM, Request
from treering.views.choices import Choices, settings_by_name
from treering.views.code.memory import CodeMemory
from treering.views.facts.view import Fact, FactView
from treering.views.memos.record import Memo
from treering.views.memos.view import MemoView
from treering.views.tree.node import TreeNode
from treering.views.tree.view import TreeView

FOLDER: Final = Path(__file__).resolve().parent.parent / "docs" / "reference"
MARK: Final = "<!-- What follows is written by tools/document_reference.py; change docstrings. -->"

_OBJECTS: Final[Mapping[str, type]] = {
    "Memory": Memory,
    "memory.facts": FactView,
    "memory.memos": MemoView,
    "memory.tree": TreeView,
    "memory.code": CodeMemory,
}
"""Classes with methods for users, by the expression before the dot."""

_RECORDS: Final[Sequence[type]] = (
    *(records.Entry, records.Receipt, records.Forgotten, records.Stats, records.Page),
    *(IngestReport, SpaceCopy),
    *(records.Hit, records.Why, records.Newer, records.Context, records.Passage),
    *(Answer, ChatPrompt, Brief, BriefLine, Fact, Memo, TreeNode, Request),
)
_FUNCTIONS: Final = (bulk_ingest, copy_space, backup)
"""Functions for whole memories."""

_TYPES: Final = (
    "`from treering.embed.contract import Embedder`, `from treering.llm.contract import LLM`, "
    "`from treering.chat.stream import ChatStream`."
)

_LITERAL: Final = re.compile(r"``(.+?)``", re.DOTALL)


def python() -> Iterator[str]:
    """Yield the methods of a memory and its views, the records, and the errors."""
    for name, kind in _OBJECTS.items():
        yield f"## {name}\n\n{_markdown(kind.__doc__)}"
        called = "memory" if kind is Memory else name
        methods = list(_methods(kind))
        rows = (
            f"| [`{called}.{method}`](#{_anchor(f'{called}.{method}')}) | {_first_line(function)} |"
            for method, function in methods
        )
        yield "\n".join(("| method | what it does |", "|---|---|", *rows))
        for method, function in methods:
            yield f"### {called}.{method}\n\n```python\n{_signature(method, function)}\n```"
            yield _markdown(function.__doc__)
    yield "## Functions\n\n`from treering import bulk_ingest, copy_space, backup`"
    for function in _FUNCTIONS:
        called = function.__name__
        yield f"### {called}\n\n```python\n{_signature(called, function)}\n```"
        yield _markdown(function.__doc__)
    yield f"## Filters\n\n{_markdown(Where.__doc__)}"
    conditions = (f"{name}: {kind}" for name, kind in Where.__annotations__.items())
    yield "```python\n" + "\n".join(map(_strip_forward_ref, conditions)) + "\n```"
    yield f"## Settings\n\n{_markdown(Choices.__doc__)}"
    rows = (
        f"| `{name}` | {_type_name(kind)} | {setting.help} |"
        for name, (kind, setting) in settings_by_name().items()
    )
    yield "\n".join(("| setting | values | what it sets |", "|---|---|---|", *rows))
    yield f"## ChatStream\n\n{_markdown(ChatStream.__doc__)}"
    yield "## Types of models\n\nFor annotations, and for models of your own. " + _TYPES
    script = _signature("FakeLLM", FakeLLM.__init__)
    yield f"## treering.testing\n\n```python\n{script.removesuffix(' -> None')}\n```"
    yield _markdown(FakeLLM.__doc__)
    yield "## Records\n\nThey are frozen."
    for record in _RECORDS:
        yield f"### {record.__name__}\n\n{_markdown(record.__doc__)}"
        yield "```python\n" + "\n".join(_fields(record)) + "\n```"
    yield f"## Errors\n\n```\n{_tree_of_errors()}\n```"


def rest() -> Iterator[str]:
    """Yield every route with its answer, by part."""
    with tempfile.TemporaryDirectory() as folder:
        app = create_app(ServerSettings(Path(folder) / "memory.db"))
        document = app.openapi()
        app.state.spaces.close()
    schemas = document["components"]["schemas"]
    by_part: dict[str, list[str]] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            part = by_part.setdefault(operation["tags"][0], [])
            part.append(_route(method.upper(), path, operation, schemas))
    for tag, routes in by_part.items():
        if tag != "page":  # routes of the page
            yield f"## {tag}"
            yield from routes
    yield from _problems()
    yield "## Schemas"
    for name, schema in schemas.items():
        if not name.endswith("Request") and "properties" in schema:
            yield f"### {name}\n\n{_description(schema)}".rstrip()
            yield _properties(schema)


def _problems() -> Iterator[str]:
    """Yield the codes and hints of problem documents."""
    yield "## Problems\n\nThe `code` of a problem is the class of the error in lower case."
    kinds = sorted(errors.BY_CODE.items())
    rows = (f"| `{code}` | {kind.status.value} | {_first_line(kind)} |" for code, kind in kinds)
    yield "\n".join(("| code | status | what went wrong |", "|---|---|---|", *rows))
    yield "The `hint` of a problem names the operation that resolves it; `detail` says it in words."
    names = {"built": "MODEL", "opened": "OTHER"}
    hints = (f"| `{hint}` | {words(hint, 'rest', names)} |" for hint in Hint)
    yield "\n".join(("| hint | in words |", "|---|---|", *hints))


def mcp() -> Iterator[str]:
    """Yield the tools, the prompts and the resource as clients see them."""
    yield "## Tools"
    for tool in tools.list_tools():
        yield f"### {tool.name}\n\n{tool.description}"
        yield _properties(tool.input_schema)
    yield "## Prompts"
    for prompt in server.PROMPTS:
        given = "".join(f" Argument: `{each.name}`." for each in prompt.arguments or ())
        yield f"### {prompt.name}\n\n{prompt.description}{given}"
    yield f"## Resources\n\n### {server.BRIEF.uri}\n\n{server.BRIEF.description}"


PAGES: Final[Mapping[str, Callable[[], Iterator[str]]]] = {
    "python.md": python,
    "rest.md": rest,
    "mcp.md": mcp,
}


def document(page: str, text: str) -> str:
    """Return the page with a new part below its mark."""
    above = text.partition(MARK)[0]
    return "\n\n".join((above + MARK, *PAGES[page]())) + "\n"


# ---------------------------------------------------------------------- Python


def _methods(kind: type) -> Iterator[tuple[str, Any]]:
    for name, member in vars(kind).items():
        function = getattr(member, "__func__", member)
        if not name.startswith("_") and inspect.isfunction(function):
            yield name, function


def _signature(name: str, function: Any) -> str:
    """Return the signature without ``self``; a long one has a parameter on each line."""
    source = textwrap.dedent(inspect.getsource(function))
    [node] = [part for part in ast.walk(ast.parse(source)) if isinstance(part, ast.FunctionDef)][:1]
    node.args.args = node.args.args[1:]
    returned = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    line = f"{name}({ast.unparse(node.args)}){returned}"
    if len(line) <= 88:
        return line
    body = "".join(f"    {parameter},\n" for parameter in _parameters(node.args))
    return f"{name}(\n{body}){returned}"


def _parameters(given: ast.arguments) -> Iterator[str]:
    optional = [None] * (len(given.args) - len(given.defaults)) + list(given.defaults)
    for parameter, default in zip(given.args, optional, strict=True):
        yield _parameter(parameter, default)
    if given.vararg:
        yield f"*{ast.unparse(given.vararg)}"
    elif given.kwonlyargs:
        yield "*"
    for parameter, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        yield _parameter(parameter, default)
    if given.kwarg:
        yield f"**{ast.unparse(given.kwarg)}"


def _parameter(parameter: ast.arg, default: ast.expr | None) -> str:
    value = f" = {ast.unparse(default)}" if default is not None else ""
    return f"{ast.unparse(parameter)}{value}"


def _fields(record: type) -> Iterator[str]:
    assert is_dataclass(record)
    for one in fields(record):
        yield f"{one.name}: {one.type}"


def _type_name(kind: Any) -> str:
    return ", ".join(f"`{value}`" for value in get_args(kind)) or kind.__name__


def _strip_forward_ref(line: str) -> str:
    """Return a line without ``ForwardRef``, the wrapper of annotations in a TypedDict."""
    return re.sub(r"ForwardRef\('(.*?)'.*\)", r"\1", line)


def _tree_of_errors() -> str:
    """Return the tree at the top of ``treering.errors``."""
    drawn = [line for line in (errors.__doc__ or "").splitlines() if line.startswith("    ")]
    return textwrap.dedent("\n".join(drawn))


def _first_line(function: Any) -> str:
    text = _markdown(function.__doc__)
    return " ".join(re.split(r"(?<=[.])\s|\n\n", text, maxsplit=1)[0].split()).replace("|", "\\|")


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def _markdown(docstring: str | None) -> str:
    return _LITERAL.sub(r"`\1`", inspect.cleandoc(docstring or ""))


# ---------------------------------------------------------------------- REST and MCP


def _route(method: str, path: str, operation: dict[str, Any], schemas: dict[str, Any]) -> str:
    parts = [f"### {method} {path}", _description(operation)]
    parameters = [one for one in operation.get("parameters", ()) if one["in"] != "path"]
    if parameters:
        rows = (
            f"| `{one['name']}` ({one['in']}) | {_type(one['schema'])} | {_description(one)} |"
            for one in parameters
        )
        parts.append("\n".join(("| parameter | type | |", "|---|---|---|", *rows)))
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    parts += map(_properties, _forms(body.get("schema", {}), schemas))
    answered = operation["responses"].get("200", operation["responses"].get("201", {}))
    schema = answered.get("content", {}).get("application/json", {}).get("schema")
    if schema and (kind := _type(schema)):
        parts.append(f"Answers {kind}.")
    if "text/event-stream" in answered.get("content", {}):
        parts.append(_description(answered))
    return "\n\n".join(part for part in parts if part)


def _forms(schema: dict[str, Any], schemas: dict[str, Any]) -> list[dict[str, Any]]:
    """The schemas a body may have: one, or those of a union."""
    references = [one["$ref"] for one in schema.get("anyOf", [schema]) if "$ref" in one]
    return [schemas[reference.rpartition("/")[2]] for reference in references]


def _properties(schema: dict[str, Any]) -> str:
    properties = schema.get("properties", {})
    if not properties:
        return ""
    required = set(schema.get("required", ()))
    rows = (
        f"| `{name}`{'' if name in required else ' (optional)'} | {_type(one)} | {_about(one)} |"
        for name, one in properties.items()
    )
    return "\n".join(("| field | type | |", "|---|---|---|", *rows))


def _about(schema: dict[str, Any]) -> str:
    default = schema.get("default")
    stated = "" if default in (None, [], {}, "") else f"Default: `{default}`."
    return f"{_description(schema)} {stated}".strip()


def _description(schema: dict[str, Any]) -> str:
    text = " ".join(_markdown(schema.get("description")).split())
    return text.replace("|", "\\|")


def _type(schema: dict[str, Any]) -> str:
    """A schema in a word or two."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name.startswith("JSON-"):
            return "any JSON"
        return f"[{name}](#{_anchor(name)})" if not name.endswith("Request") else name
    if "anyOf" in schema:
        kinds = (_type(one) for one in schema["anyOf"] if one.get("type") != "null")
        return " or ".join(dict.fromkeys(kind for kind in kinds if kind))
    if "enum" in schema:
        return ", ".join(f"`{one}`" for one in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {})) or 'values'}"
    return str(schema.get("type", ""))


def main() -> None:
    """Write all pages."""
    for page in PAGES:
        path = FOLDER / page
        path.write_text(document(page, path.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
