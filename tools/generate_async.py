"""Write ``treering/aio/``, the asynchronous twins of ``Memory`` and its views, from their sources.

Run as ``python -m tools.generate_async``. Signatures and docstrings are taken over as they stand;
each body hands the call to a worker thread. A test compares the result with what is committed.
"""

from __future__ import annotations

import ast
import copy
import inspect
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from treering.memory import Memory
from treering.views.code.memory import CodeMemory
from treering.views.code.write.context_memory import ContextMemory
from treering.views.facts.view import FactView
from treering.views.memos.view import MemoView
from treering.views.tree.view import TreeView

FOLDER = Path(__file__).resolve().parent.parent / "treering" / "aio"


@dataclass(frozen=True)
class Twin:
    """A class and the asynchronous one that is made of it, in a module of ``treering.aio``."""

    source: type
    module: str
    name: str

    def path(self) -> str:
        """The module's name as it is imported."""
        return f"treering.aio.{self.module}"


TWINS: Final = (
    Twin(Memory, "memory", "AsyncMemory"),
    Twin(TreeView, "tree", "AsyncTree"),
    Twin(MemoView, "memos", "AsyncMemos"),
    Twin(FactView, "facts", "AsyncFacts"),
    Twin(CodeMemory, "code", "AsyncCode"),
    Twin(ContextMemory, "context_memory", "AsyncContextMemory"),
)
_BY_SOURCE: Final = {twin.source.__name__: twin for twin in TWINS}

_MEMORY_TEMPLATE: Final = '''
"""AsyncMemory: Memory for asyncio. Written by tools/generate_async.py."""

from __future__ import annotations

import asyncio

class AsyncMemory:
    """Memory for asyncio: the same methods, each run in a worker thread.

    Open one with ``await AsyncMemory.open(...)``. Calls may be awaited side by side. A call that is
    cancelled is not waited for any more but runs to its end, so what it adds is added as a whole.
    ``progress`` and other callbacks are called in the worker thread. So it is with the views:
    ``await memory.tree.search(...)``.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
'''
_VIEW_TEMPLATE: Final = '''
"""{name}: {source} for asyncio. Written by tools/generate_async.py."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

class {name}:
    """The methods of ``{source}``, each run in a worker thread, as is getting at the view."""

    def __init__(self, view: Callable[[], {source}]) -> None:
        self._view = view
'''
_OWN_IMPORTS: Final[Mapping[str, set[str]]] = {
    "collections.abc": {"AsyncIterator"},
    "treering.aio.paging": {"paged"},
    "treering.aio.chat_stream": {"AsyncChatStream"},
    "types": {"TracebackType"},
    "typing": {"Self"},
    **{twin.path(): {twin.name} for twin in TWINS},
}
"""Names that the twins use and their sources do not."""


def generate() -> dict[Path, str]:
    """The source of every module, formatted, by its path."""
    return {FOLDER / f"{twin.module}.py": _formatted(_module(twin)) for twin in TWINS}


def _module(twin: Twin) -> str:
    """A module's source, neither formatted nor its imports sorted."""
    source = ast.parse(Path(inspect.getfile(twin.source)).read_text("utf-8"))
    names = {"name": twin.name, "source": twin.source.__name__}
    template = _MEMORY_TEMPLATE if twin.source is Memory else _VIEW_TEMPLATE.format_map(names)
    module = ast.parse(template)
    [target] = [node for node in module.body if isinstance(node, ast.ClassDef)]
    this = "self._memory" if twin.source is Memory else "self._view()"
    methods = _public_methods(source, twin.source.__name__)
    target.body += [_method(method, this) for method in methods]
    place = 1 + next(at for at, node in enumerate(module.body) if isinstance(node, ast.Import))
    module.body[place:place] = _imports(twin, source, module)
    return ast.unparse(ast.fix_missing_locations(module))


def _formatted(source: str) -> str:
    """The source as ruff formats the rest of the project."""
    for command in (["check", "--fix", "--select=I,F401", "-"], ["format", "-"]):
        name = f"--stdin-filename={FOLDER / 'memory.py'}"
        ruff = [sys.executable, "-m", "ruff", *command, name, "--quiet"]
        done = subprocess.run(ruff, input=source, capture_output=True, text=True, check=True)
        source = done.stdout
    return source


def _public_methods(module: ast.Module, name: str) -> list[ast.FunctionDef]:
    [source] = [
        node for node in module.body if isinstance(node, ast.ClassDef) and node.name == name
    ]
    methods = [node for node in source.body if isinstance(node, ast.FunctionDef)]
    return [method for method in methods if not method.name.startswith("_")]


def _method(method: ast.FunctionDef, this: str) -> ast.FunctionDef | ast.AsyncFunctionDef:
    """The same signature and docstring over a body that calls the method in a worker thread.

    ``this`` is the expression for the object whose method it is.
    """
    body, returns = _body(method, this)
    fields = {name: copy.deepcopy(value) for name, value in ast.iter_fields(method)}
    fields["body"] = [*method.body[:1], *ast.parse(body).body]  # the docstring stays
    fields["returns"] = ast.parse(returns, mode="eval").body
    if "await " in body:
        return ast.AsyncFunctionDef(**fields)
    return ast.FunctionDef(**fields)


def _body(method: ast.FunctionDef, this: str) -> tuple[str, str]:
    """What a method does, and what it returns."""
    name, returns = method.name, ast.unparse(method.returns or ast.Constant(None))
    passed = ", ".join(_passed_on(method.args))
    twin = _BY_SOURCE[returns].name if returns in _BY_SOURCE else ""
    if name == "open":
        return f"return cls(await asyncio.to_thread(lambda: Memory.open({passed})))", returns
    if _is_property(method) and twin:  # a view
        return f"return {twin}(lambda: {this}.{name})", twin
    if _is_property(method):  # a value that needs no work
        return f"return {this}.{name}", returns
    if returns.startswith("Iterator["):
        return f"return paged({this}.{name}({passed}))", f"Async{returns}"
    call = f"await asyncio.to_thread(lambda: {this}.{name}({passed}))"
    if returns == "ChatStream":
        return f"return AsyncChatStream({call})", "AsyncChatStream"
    if twin:
        return f"view = {call}\nreturn {twin}(lambda: view)", twin
    return f"return {call}", returns


def _is_property(method: ast.FunctionDef) -> bool:
    return any(ast.unparse(decorator) == "property" for decorator in method.decorator_list)


def _passed_on(arguments: ast.arguments) -> Sequence[str]:
    """The arguments of a method, but for self or cls, as they are handed on."""
    return [
        *(argument.arg for argument in arguments.args[1:]),
        *([f"*{arguments.vararg.arg}"] if arguments.vararg else []),
        *(f"{argument.arg}={argument.arg}" for argument in arguments.kwonlyargs),
        *([f"**{arguments.kwarg.arg}"] if arguments.kwarg else []),
    ]


def _imports(twin: Twin, source: ast.Module, module: ast.Module) -> Iterator[ast.ImportFrom]:
    """Imports of the names that a twin uses, from where its source has them or defines them."""
    used = {node.id for node in ast.walk(module) if isinstance(node, ast.Name)}
    imported: dict[str, dict[str, str]] = {
        where: {name: name for name in names & used if name != twin.name}
        for where, names in _OWN_IMPORTS.items()
    }
    defined = used & _defined(source)
    imported.setdefault(twin.source.__module__, {}).update({name: name for name in defined})
    for node in source.body:
        if isinstance(node, ast.ImportFrom) and node.module != "__future__":
            names = {alias.asname or alias.name: alias.name for alias in node.names}
            kept = {alias: name for alias, name in names.items() if alias in used - defined}
            imported.setdefault(str(node.module), {}).update(kept)
    for where, names in imported.items():
        aliases = [
            ast.alias(name, alias if alias != name else None) for alias, name in names.items()
        ]
        if aliases:
            yield ast.ImportFrom(where, aliases, 0)


def _defined(module: ast.Module) -> set[str]:
    """The names that a module defines itself."""
    names: set[str] = set()
    for node in module.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return names


if __name__ == "__main__":
    for path, text in generate().items():
        path.write_text(text, "utf-8")
