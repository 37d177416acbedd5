"""Methods of a memory on a server, one for each operation.

``search = post(MemoView.search, "/memos/search")`` has the signature of ``MemoView.search``: its
arguments are the body, and the answer is read as its return type. A new parameter of an operation
needs no code here.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from functools import cache, wraps
from inspect import Parameter, Signature, signature
from pathlib import Path, PurePosixPath, PureWindowsPath
from string import Formatter
from typing import Any, Final, NoReturn, ParamSpec, TypeVar, get_type_hints
from urllib.parse import quote, urlencode

from treering.client.connection import Connection
from treering.errors import InputError
from treering.http import ServerEvent
from treering.llm.tokens import estimate_tokens
from treering.operations import OPERATIONS, Operation

P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C", bound=type)
Fields = dict[str, Any]
Events = Generator[ServerEvent, None, None]

PAGE: Final = 1_000
"""Items of a long list in one request."""


def get(operation: Callable[P, T], path: str, **fixed: Any) -> Callable[P, T]:
    """Return a method that reads: its arguments and ``fixed`` are parameters of the address."""

    def call(connection: Connection, kind: type[T], at: str, sent: Fields) -> T:
        return connection.get(kind, at, sent | fixed)

    return _method(operation, "GET", path, call)


def pages(operation: Callable[P, list[T]], path: str) -> Callable[P, list[T]]:
    """Return a method that reads a list in parts."""

    def call(connection: Connection, kind: type[list[T]], at: str, sent: Fields) -> list[T]:
        items: list[T] = []
        while True:
            part = connection.get(kind, at, sent | {"offset": len(items), "limit": PAGE})
            items += part
            if len(part) < PAGE:
                return items

    return _method(operation, "GET", path, call)


def post(
    operation: Callable[P, T],
    path: str,
    *,
    method: str = "POST",
    body_of: Callable[[Fields], Fields] = dict,
    once: bool = False,
) -> Callable[P, T]:
    """Return a method whose arguments are the body, or that of ``body_of``.

    ``once``: a repeated request changes nothing.
    """

    def call(connection: Connection, kind: type[T], at: str, sent: Fields) -> T:
        body = body_of(sent)
        if method == "DELETE" and body:  # which takes no body
            at, body = f"{at}?{urlencode(body)}", {}
        return connection.send(kind, method, at, body or None, once=once)

    return _method(operation, method, path, call)


def event_stream(
    operation: Callable[P, T], path: str, read: Callable[[Events], T]
) -> Callable[P, T]:
    """Return a method whose answer is a stream of server-sent events, which ``read`` takes."""

    def call(connection: Connection, _: type[T], at: str, sent: Fields) -> T:
        return read(connection.events(at, sent | {"stream": True}))

    return _method(operation, "POST", path, call)


def remote(kind: C) -> C:
    """Class decorator: each operation of the class above is a request to its route."""
    above = kind.__mro__[1]
    for operation in OPERATIONS:
        name = operation.method.__name__
        if vars(above).get(name) is operation.method and name not in vars(kind):
            setattr(kind, name, _remote_method(operation))
    return kind


def _remote_method(operation: Operation) -> Callable[..., Any]:
    if operation.in_parts:
        return pages(operation.method, operation.path)
    if operation.verb == "GET":
        return get(operation.method, operation.path)

    def body_of(sent: Fields) -> Fields:
        return {operation.renamed.get(name, name): value for name, value in sent.items()}

    return post(operation.method, operation.path, method=operation.verb, body_of=body_of)


def without(*names: str) -> Callable[[C], C]:
    """Class decorator: inherited methods of these names raise InputError."""

    def decorate(kind: C) -> C:
        for name in names:
            setattr(kind, name, _new_refusal(name))
        return kind

    return decorate


def step(text: str) -> str:
    """Quote a text for use as one part of a path."""
    return quote(text, safe="")


def sendable(arguments: Mapping[str, Any]) -> Fields:
    """Return arguments as JSON has them. Raise InputError for values that JSON does not have."""
    return {
        name: _SENT[name](value) if name in _SENT and value is not None else value
        for name, value in arguments.items()
        if name not in _NOT_SENT
    }


def same_count(count_tokens: Callable[[str], int]) -> None:
    """Raise InputError for a token counter other than the server's."""
    if count_tokens is not estimate_tokens:
        raise InputError("count_tokens cannot be sent; a server counts as by default")


def _new_refusal(name: str) -> Callable[..., NoReturn]:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise InputError(
            f"{name}() is not there for a memory on a server; call it where the memory's file is"
        )

    refuse.__name__ = name
    refuse.is_refusal = True  # type: ignore[attr-defined]
    return refuse


def _method(
    operation: Callable[P, T],
    verb: str,
    path: str,
    call: Callable[[Connection, type[T], str, Fields], T],
) -> Callable[P, T]:
    taken = signature(operation)
    in_path = [name for _, name, _, _ in Formatter().parse(path) if name]  # those in braces

    @wraps(operation)
    def method(*args: P.args, **kwargs: P.kwargs) -> T:
        this, given = _arguments(taken, args, kwargs)
        sent = sendable(given)
        # Parameters of the path leave the body, where the server would refuse them.
        at = path.format(**{name: step(str(sent.pop(name))) for name in in_path})
        return call(this._connection, _answer_type(operation), at, sent)

    method.route = (verb, path)  # type: ignore[attr-defined]  # held to the OpenAPI document
    return method


@cache
def _answer_type(operation: Callable[..., Any]) -> type[Any]:
    # Kept: resolving hints takes a good part of a millisecond.
    kind: type[Any] = get_type_hints(operation)["return"]
    return kind


def _arguments(taken: Signature, args: Sequence[Any], kwargs: Fields) -> tuple[Any, Fields]:
    """Return the object of a call, and the arguments by name with their defaults."""
    bound = taken.bind(*args, **kwargs)
    bound.apply_defaults()
    given = dict(bound.arguments)
    for parameter in taken.parameters.values():
        if parameter.kind is Parameter.VAR_KEYWORD:  # filters
            given |= given.pop(parameter.name)
    if "count_tokens" in given:
        same_count(given["count_tokens"])
    return given.pop("self"), given


def _relation_names(relations: str | Sequence[object]) -> list[object]:
    if isinstance(relations, str) or not all(isinstance(name, str) for name in relations):
        raise InputError("over HTTP give relations by name, such as ['context', 'session']")
    return [*relations]


def _policy_name(policy: object) -> str:
    if not isinstance(policy, str):
        raise InputError("over HTTP give a chat policy by name, such as 'auto'")
    return policy


def _reranker_name(reranker: object) -> str:
    if not isinstance(reranker, str):
        raise InputError("over HTTP give a reranker by its name on the server")
    return reranker


def _folder(root: object) -> object:
    """Return a folder as an absolute path: a relative one counts from the caller's folder."""
    if not isinstance(root, str | Path):  # the root of a tree
        return root
    kinds = (PurePosixPath, PureWindowsPath)  # the server's machine may be of the other one
    is_absolute = any(kind(root).is_absolute() for kind in kinds)
    return str(root if is_absolute else Path(root).absolute())


_NOT_SENT: Final = frozenset({"progress", "count_tokens"})
"""Callbacks, which cannot be sent."""

_SENT: Final[Mapping[str, Callable[[Any], Any]]] = {
    "policy": _policy_name,
    "relations": _relation_names,
    "root": _folder,
    "rerank": _reranker_name,
}
