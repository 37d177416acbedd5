"""Where a memory in PostgreSQL is: a URL as libpq takes it, with some options of treering's own."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, quote, urlencode

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from treering.errors import InputError

DEFAULT_SCHEMA: Final = "treering"
CONNECT_TIMEOUT_S: Final = 10
"""How long to wait for a server, unless the URL or libpq's environment sets another time."""

DEFAULT_POOL: Final = 16
MAX_POOL: Final = 1_000
DEFAULT_LIMIT: Final = 1_000_000
MAX_LIMIT: Final = 1 << 31
_NAME: Final = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_OWN: Final = ("schema", "pool", "limit")


@dataclass(frozen=True, slots=True)
class Location:
    """A database, a schema of it, and how many connections a process may have.

    ``limit`` is how many fragments of a space a process holds in main memory.
    ``conninfo`` is libpq's and may hold a password; ``shown`` never does.
    """

    conninfo: str
    schema: str
    pool: int
    limit: int
    shown: str

    @classmethod
    def parse(cls, url: str) -> Location:
        """The location of a URL. Raises InputError, which does not quote it: it has passwords."""
        base, _, query = url.partition("?")
        pairs = parse_qsl(query, keep_blank_values=True)
        own = {key: value for key, value in pairs if key in _OWN}
        rest = urlencode([pair for pair in pairs if pair[0] not in _OWN], quote_via=quote)
        conninfo = f"{base}?{rest}" if rest else base
        try:
            given = conninfo_to_dict(conninfo)
            _refuse_parts_of_a_password(base, given)
            if "connect_timeout" not in given and "PGCONNECT_TIMEOUT" not in os.environ:
                conninfo = make_conninfo(conninfo, connect_timeout=CONNECT_TIMEOUT_S)
        except (psycopg.Error, ValueError):
            raise InputError(
                "this is not a URL of PostgreSQL; give postgresql://USER@HOST:PORT/DATABASE, with "
                "'%' and two digits for each '@', ':', '/', '?' or '%' within a part of it"
            ) from None
        schema = _schema(own.get("schema", DEFAULT_SCHEMA))
        pool = _number("pool", own.get("pool"), "connections", DEFAULT_POOL, MAX_POOL)
        limit = _number("limit", own.get("limit"), "fragments", DEFAULT_LIMIT, MAX_LIMIT)
        return cls(conninfo, schema, pool, limit, _without_secrets(given, schema))


def _refuse_parts_of_a_password(base: str, given: Mapping[str, object]) -> None:
    """Raise ValueError for a URL with a '/' or '@' in the password, which libpq reads otherwise."""
    ports = str(given.get("port", "")).split(",")
    if not all(port.isdecimal() for port in ports if port):
        raise ValueError("port")
    if "@" in base.partition("://")[2].partition("/")[2]:
        raise ValueError("database")


def _schema(name: str) -> str:
    if not _NAME.fullmatch(name) or name.startswith("pg_"):
        raise InputError(
            f"schema is {name!r}; give small letters, digits or '_', at most 63, not first a digit",
            param="schema",
        )
    return name


def _number(name: str, given: str | None, what: str, default: int, most: int) -> int:
    if given is None:
        return default
    if not given.isascii() or not given.isdecimal() or not 1 <= int(given) <= most:
        raise InputError(f"{name} is {given!r}; give a number of {what}, 1 to {most}", param=name)
    return int(given)


def _without_secrets(given: Mapping[str, object], schema: str) -> str:
    """The URL without anything secret."""
    hosts = str(given.get("host", ""))
    is_socket = hosts.startswith("/")
    user = f"{quote(str(given['user']))}@" if "user" in given else ""
    port = f":{given['port']}" if "port" in given else ""
    place = "" if is_socket else f"{hosts}{port}"
    options = {"host": hosts} if is_socket else {}
    options |= {"port": str(given["port"])} if is_socket and "port" in given else {}
    options |= {"service": str(given["service"])} if "service" in given else {}
    options |= {"schema": schema} if schema != DEFAULT_SCHEMA else {}
    query = f"?{urlencode(options, safe='/')}" if options else ""
    return f"postgresql://{user}{place}/{quote(str(given.get('dbname', '')))}{query}"
