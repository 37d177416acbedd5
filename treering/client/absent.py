"""What cannot be done over HTTP, each with its reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeVar

from treering.errors import InputError

T = TypeVar("T", bound=type)


def without(reasons: Mapping[str, str]) -> Callable[[T], T]:
    """Class decorator: inherited methods of these names raise InputError with their reason."""

    def marked(kind: T) -> T:
        for name, reason in reasons.items():
            setattr(kind, name, _refusing(name, reason))
        return kind

    return marked


def _refusing(name: str, reason: str) -> Callable[..., NoReturn]:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise InputError(f"{name}() is not there for a memory on a server: {reason}")

    refuse.__name__ = name
    return refuse
