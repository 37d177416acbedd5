"""Roles: the rights of a key or a token, and the spaces in which it has them.

A request needs all roles of its row in ``NEEDED``. ``full`` contains all but ``operator``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Final, Self

from treering.errors import AccessDenied, InputError
from treering.operations import OPERATIONS
from treering.serve.proxy.conversation import PASSED, PROTOCOLS

Roles = frozenset[str]

ANY: Final[Roles] = frozenset()
READ: Final = frozenset({"read"})
ADD: Final = frozenset({"add"})
FULL: Final = frozenset({"full"})
OPERATOR: Final = frozenset({"operator"})

ROLES: Final = ("read", "add", "full", "operator")
"""A key may have several. Operators see the figures of the whole memory."""

NEEDED: Final[Mapping[tuple[str, str], Roles]] = {
    **{(row.verb, f"/v1{row.path}"): row.roles for row in OPERATIONS if row.verb != "GET"},
    ("POST", "/v1/page/markdown"): READ,
    **{("POST", f"/v1{protocol.path}"): READ | ADD for protocol in PROTOCOLS},
    **{("POST", f"/v1/{path}"): READ | ADD for verb, path in PASSED if verb == "POST"},
    ("GET", "/metrics"): ANY,
    **{(verb, "/mcp"): ANY for verb in ("GET", "POST", "DELETE")},  # each tool needs its own
}
"""Roles by method and path. Without a row, GET and HEAD need ``read`` and all else ``full``."""

WILDCARD: Final = "*"


def needed_roles(method: str, path: str) -> Roles:
    """Return the roles that a request needs."""
    return NEEDED.get((method, path), READ if method in ("GET", "HEAD") else FULL)


def parse_roles(names: Collection[str]) -> Roles:
    """Return the roles of these names. Raise InputError."""
    for name in names:
        if name not in ROLES:
            raise InputError(f"no role {name!r}; give {', '.join(ROLES)}", param="role")
    if not names:
        raise InputError(f"a key without a role opens nothing; give {', '.join(ROLES)}")
    return frozenset(names)


@cache
def _pattern(space: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, space.split(WILDCARD))), re.DOTALL)


def matches(pattern: str, name: str) -> bool:
    """Return whether a name fits a pattern, in which ``*`` stands for any characters."""
    return _pattern(pattern).fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class Grant:
    """Roles in the spaces whose names fit a pattern."""

    space: str
    roles: Roles


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request: the id of its key, its grants, and the space of the request.

    Without keys the id is None. A key that opens only patterns has no space by itself.
    """

    key: str | None
    grants: tuple[Grant, ...]
    space: str | None = None

    def in_space(self, named: str | None) -> Self:
        """Return the caller in the space that a request names, or in its first one.

        Raise AccessDenied if the key does not open the space.
        """
        if named is not None and not self.may(ANY, named):
            raise AccessDenied(f"this key does not open the space {named!r}")
        return replace(self, space=named or next(iter(self.own_spaces), None))

    @property
    def own_spaces(self) -> list[str]:
        """Names of the spaces that are granted by name, first granted first."""
        return [grant.space for grant in self.grants if WILDCARD not in grant.space]

    def may(self, needed: Roles, space: str | None) -> bool:
        """Return whether the caller has these roles in a space; None means in any space."""
        opened = [each.roles for each in self.grants if space is None or matches(each.space, space)]
        roles = frozenset[str]().union(*opened)
        return bool(opened) and (needed <= roles or ("full" in roles and needed != OPERATOR))

    def ensure(self, needed: Roles, space: str | None) -> None:
        """Raise AccessDenied unless the caller has these roles in a space."""
        if not self.may(ANY, space):
            raise AccessDenied(f"this key does not open the space {space!r}")
        if not self.may(needed, space):
            names = " and ".join(sorted(needed))
            raise AccessDenied(f"this key lacks the role for this request: it needs {names}")

    @property
    def own_space(self) -> str:
        """Space of the request. Raise InputError if it is not known."""
        if self.space is None:
            raise InputError(
                "this key opens several spaces; name one in the header X-Treering-Space",
                param="X-Treering-Space",
            )
        return self.space

    @property
    def is_operator(self) -> bool:
        """Whether the caller may see figures of the whole memory."""
        return self.may(OPERATOR, None) or Grant(WILDCARD, FULL) in self.grants


EVERYTHING: Final = (Grant(WILDCARD, FULL),)
"""The grants of a caller of a server without keys."""
