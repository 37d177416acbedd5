"""Write ``treering/aio.py``, the asynchronous twin of ``Memory``, from ``treering/memory.py``.

Run as ``python -m tools.generate_async``. Signatures and docstrings are taken over as they stand;
each body hands the call to a worker thread. A test compares the result with what is committed.
"""

from __future__ import annotations

import ast
import copy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MEMORY = ROOT / "treering" / "memory.py"
TARGET = ROOT / "treering" / "aio.py"

_TEMPLATE = '''
"""AsyncMemory: Memory for asyncio. Written by tools/generate_async.py from memory.py."""

from __future__ import annotations

import asyncio

T = TypeVar("T")
PAGE = 256
"""What an iterator fetches at a time: a change of threads for each entry would cost more."""

class AsyncMemory:
    """Memory for asyncio: the same methods, each run in a worker thread.

    Open one with ``await AsyncMemory.open(...)``. Calls may be awaited side by side. A call that is
    cancelled is not waited for any more but runs to its end, so what it adds is added as a whole.
    ``progress`` and other callbacks are called in the worker thread.
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


async def _paged(items: Iterator[T]) -> AsyncIterator[T]:
    """The items of an iterator that is read in worker threads, a page at a time."""
    while page := await asyncio.to_thread(lambda: list(islice(items, PAGE))):
        for item in page:
            yield item
'''
_OWN_IMPORTS = {
    "collections.abc": {"AsyncIterator", "Iterator"},
    "itertools": {"islice"},
    "treering.chat.stream": {"AsyncChatStream"},
    "types": {"TracebackType"},
    "typing": {"Self", "TypeVar"},
}


def generate() -> str:
    """The module's source, neither formatted nor its imports sorted."""
    memory = ast.parse(MEMORY.read_text("utf-8"))
    module = ast.parse(_TEMPLATE)
    [target] = [node for node in module.body if isinstance(node, ast.ClassDef)]
    target.body += [_twin(method) for method in _public_methods(memory)]
    place = 1 + next(at for at, node in enumerate(module.body) if isinstance(node, ast.Import))
    module.body[place:place] = _imports(memory, module)
    return ast.unparse(ast.fix_missing_locations(module))


def formatted(source: str) -> str:
    """The source as ruff formats the rest of the project."""
    for command in (["check", "--fix", "--select=I", "-"], ["format", "-"]):
        ruff = [sys.executable, "-m", "ruff", *command, f"--stdin-filename={TARGET}", "--quiet"]
        done = subprocess.run(ruff, input=source, capture_output=True, text=True, check=True)
        source = done.stdout
    return source


def _public_methods(module: ast.Module) -> list[ast.FunctionDef]:
    [memory] = [
        node for node in module.body if isinstance(node, ast.ClassDef) and node.name == "Memory"
    ]
    methods = [node for node in memory.body if isinstance(node, ast.FunctionDef)]
    return [method for method in methods if not method.name.startswith("_")]


def _twin(method: ast.FunctionDef) -> ast.FunctionDef | ast.AsyncFunctionDef:
    """The same signature and docstring over a body that calls the method in a worker thread."""
    fields = {name: copy.deepcopy(value) for name, value in ast.iter_fields(method)}
    fields["body"] = method.body[:1]  # the docstring
    call = ", ".join(["self._memory." + method.name, *_passed_on(method.args)])
    if method.name == "open":
        call = ", ".join(["Memory.open", *_passed_on(method.args)])
        fields["body"] += ast.parse(f"return cls(await asyncio.to_thread({call}))").body
    elif _is_property(method):  # a view of the memory: handed out as it is, its methods may block
        fields["body"] += ast.parse(f"return self._memory.{method.name}").body
        return ast.FunctionDef(**fields)
    elif _iterates(method):
        fields["returns"] = ast.parse(f"Async{ast.unparse(fields['returns'])}", mode="eval").body
        direct = f"self._memory.{method.name}({', '.join(_passed_on(method.args))})"
        fields["body"] += ast.parse(f"return _paged({direct})").body
        return ast.FunctionDef(**fields)
    elif ast.unparse(method.returns or ast.Constant(None)) == "ChatStream":
        fields["returns"] = ast.Name("AsyncChatStream")
        fields["body"] += ast.parse(f"return AsyncChatStream(await asyncio.to_thread({call}))").body
    else:
        fields["body"] += ast.parse(f"return await asyncio.to_thread({call})").body
    return ast.AsyncFunctionDef(**fields)


def _is_property(method: ast.FunctionDef) -> bool:
    return any(ast.unparse(one) == "property" for one in method.decorator_list)


def _iterates(method: ast.FunctionDef) -> bool:
    return method.returns is not None and ast.unparse(method.returns).startswith("Iterator[")


def _passed_on(arguments: ast.arguments) -> list[str]:
    """The arguments of a method, but for self or cls, as they are handed on."""
    return [
        *(one.arg for one in arguments.args[1:]),
        *([f"*{arguments.vararg.arg}"] if arguments.vararg else []),
        *(f"{one.arg}={one.arg}" for one in arguments.kwonlyargs),
        *([f"**{arguments.kwarg.arg}"] if arguments.kwarg else []),
    ]


def _imports(memory: ast.Module, module: ast.Module) -> Iterator[ast.ImportFrom]:
    """Imports of the names that the module uses, from where memory.py has them or defines them."""
    used = {node.id for node in ast.walk(module) if isinstance(node, ast.Name)}
    wanted = {where: {name: name for name in names} for where, names in _OWN_IMPORTS.items()}
    wanted["treering.memory"] = {name: name for name in used & _defined(memory)}
    for node in memory.body:
        if isinstance(node, ast.ImportFrom) and node.module != "__future__":
            known = {one.asname or one.name: one.name for one in node.names}
            names = {alias: name for alias, name in known.items() if alias in used}
            wanted.setdefault(str(node.module), {}).update(names)
    for where, names in wanted.items():
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
            names |= {one.id for one in node.targets if isinstance(one, ast.Name)}
    return names


if __name__ == "__main__":
    TARGET.write_text(formatted(generate()), "utf-8")
