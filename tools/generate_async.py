"""Write ``treering/aio/memory.pyi``, the types of the asynchronous proxies, from their sources.

Run as ``python -m tools.generate_async``. A test compares the result with the committed file.
"""

from __future__ import annotations

import ast
import copy
import inspect
import subprocess
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Final

from treering.aio import memory
from treering.aio.proxy import AsyncProxy

STUB: Final = Path(memory.__file__).with_suffix(".pyi")

PROXIES: Final[dict[str, type[AsyncProxy]]] = {
    proxy.source.__name__: proxy
    for proxy in vars(memory).values()
    if isinstance(proxy, type) and issubclass(proxy, AsyncProxy) and proxy is not AsyncProxy
}
"""The proxies by the names of their sources."""

_HEAD: Final = """
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Self

from treering.aio.proxy import AsyncChatStream
"""

_CONTEXT: Final = """
async def __aenter__(self) -> Self: ...
async def __aexit__(
    self,
    kind: type[BaseException] | None,
    error: BaseException | None,
    trace: TracebackType | None,
) -> None: ...
"""


def generate() -> str:
    """Return the source of the stub."""
    classes = [_class(source, proxy) for source, proxy in PROXIES.items()]
    sources = [proxy.source for proxy in PROXIES.values()]
    imports = chain.from_iterable(map(_imports, sources, classes))
    return _format("\n".join([_HEAD, *imports, *map(ast.unparse, classes)]))


def _format(source: str) -> str:
    """The source as ruff formats the rest of the project, without unused imports."""
    for command in (["check", "--fix", "--select=I,F401", "-"], ["format", "-"]):
        ruff = [sys.executable, "-m", "ruff", *command, f"--stdin-filename={STUB}", "--quiet"]
        done = subprocess.run(ruff, input=source, capture_output=True, text=True, check=True)
        source = done.stdout
    return source


def _class(name: str, proxy: type[AsyncProxy]) -> ast.ClassDef:
    """Return the stub of a proxy."""
    is_memory = name == "Memory"
    parameter = f"memory: {name}" if is_memory else f"get: Callable[[], {name}]"
    head = f"class {proxy.__name__}:\n    def __init__(self, {parameter}) -> None: ..."
    [stub] = ast.parse(head).body
    assert isinstance(stub, ast.ClassDef)
    stub.body += ast.parse(_CONTEXT).body if is_memory else []
    stub.body += [_method(method) for method in _public_methods(_tree(proxy.source), name)]
    return stub


def _tree(source: type) -> ast.Module:
    return ast.parse(Path(inspect.getfile(source)).read_text("utf-8"))


def _public_methods(module: ast.Module, name: str) -> list[ast.FunctionDef]:
    [source] = [
        node for node in module.body if isinstance(node, ast.ClassDef) and node.name == name
    ]
    methods = [node for node in source.body if isinstance(node, ast.FunctionDef)]
    return [method for method in methods if not method.name.startswith("_")]


def _method(method: ast.FunctionDef) -> ast.FunctionDef | ast.AsyncFunctionDef:
    """The same signature, with the result of the proxy."""
    returns = ast.unparse(method.returns or ast.Constant(None))
    is_iterator = returns.startswith("Iterator[")
    proxied = {name: proxy.__name__ for name, proxy in PROXIES.items()}
    proxied["ChatStream"] = "AsyncChatStream"
    fields = {name: copy.deepcopy(value) for name, value in ast.iter_fields(method)}
    fields["body"] = [ast.Expr(ast.Constant(...))]
    result = f"Async{returns}" if is_iterator else proxied.get(returns, returns)
    fields["returns"] = ast.parse(result, mode="eval").body
    kind = ast.FunctionDef if is_iterator or _is_property(method) else ast.AsyncFunctionDef
    return ast.fix_missing_locations(kind(**fields))


def _is_property(method: ast.FunctionDef) -> bool:
    return any(ast.unparse(decorator) == "property" for decorator in method.decorator_list)


def _imports(source: type, proxy: ast.ClassDef) -> Iterator[str]:
    """Yield imports of the names that a proxy uses, from the modules that its source uses."""
    used = {node.id for node in ast.walk(proxy) if isinstance(node, ast.Name)}
    for node in _tree(source).body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) in used:
                    yield f"from {node.module} import {ast.unparse(alias)}"
        for name in used.intersection(_names_of(node)):
            yield f"from {source.__module__} import {name}"


def _names_of(node: ast.stmt) -> list[str]:
    """Return the names that a statement defines."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


if __name__ == "__main__":
    STUB.write_text(generate(), "utf-8")
