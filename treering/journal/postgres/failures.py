"""Errors of the driver and the server, translated to errors of treering that say what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import psycopg
from psycopg import errors as pg
from psycopg_pool import PoolTimeout

from treering.errors import (
    InputError,
    JournalBusy,
    JournalConflict,
    JournalCorrupt,
    JournalError,
    JournalFull,
)

BUSY_TIMEOUT_S: Final = 60.0
"""Writers wait for each other no longer."""

_NOTHING: Final = "nothing of this change was stored"
_CONFLICTS: Final = (pg.DeadlockDetected, pg.SerializationFailure)
_FULL: Final = (pg.DiskFull, pg.OutOfMemory, pg.ConfigurationLimitExceeded)
_DAMAGED: Final = (pg.DataCorrupted, pg.IndexCorrupted)
_REFUSED: Final = (
    *(pg.InvalidPassword, pg.InvalidAuthorizationSpecification, pg.InvalidCatalogName),
    *(pg.InsufficientPrivilege, pg.ReadOnlySqlTransaction, pg.UndefinedFile),
)


@contextmanager
def translate_errors(name: str, *, ending: bool = False) -> Iterator[None]:
    """Turn every error of psycopg into an error of treering; ``name`` is the database's.

    ``ending``: a transaction is being committed, and may be durable though the connection is lost.
    """
    try:
        yield
    except PoolTimeout as error:
        raise JournalBusy(
            f"{name}: all connections of this process are in use; try again, or give the URL a "
            "larger pool=…"
        ) from error
    except psycopg.Error as error:
        raise _translate(error, name, ending) from error
    except (UnicodeEncodeError, OverflowError) as error:
        raise InputError(f"a value cannot be stored: {error}") from error


def _translate(error: psycopg.Error, name: str, ending: bool) -> Exception:
    words = _words(error)
    if isinstance(error, _CONFLICTS):
        return JournalConflict(f"{name}: {words}; {_NOTHING}; try again")
    if isinstance(error, pg.LockNotAvailable):
        return JournalBusy(
            f"{name}: another process kept writing for over {BUSY_TIMEOUT_S:.0f} s; try again"
        )
    if isinstance(error, pg.QueryCanceled):
        return JournalBusy(f"{name}: {words}; try again, or allow statements more time")
    if isinstance(error, pg.TooManyConnections):
        return JournalBusy(
            f"{name}: the server has no connection left; try again, give the URL a smaller "
            "pool=…, or allow the server more"
        )
    if isinstance(error, _FULL):
        return JournalFull(
            f"{name}: the server has no space left ({words}); {_NOTHING}. Free some and repeat it"
        )
    if isinstance(error, _DAMAGED):
        return JournalCorrupt(f"{name}: the server finds damage ({words}); restore a backup")
    if isinstance(error, pg.DataError):
        return InputError(f"a value cannot be stored: {words}")
    if isinstance(error, _REFUSED):
        return JournalError(
            f"{name}: the server refuses it ({words}); check the user, its rights, and the database"
        )
    if _is_lost(error):
        outcome = "this change may be stored or not; look whether it is there, or repeat it"
        return JournalError(
            f"{name}: no connection to the server ({words}); {outcome if ending else _NOTHING}. "
            "Check that it runs and lets this user in, and repeat it"
        )
    return JournalError(f"{name}: {words}")


def _is_lost(error: psycopg.Error) -> bool:
    """Whether the connection ended, or was never made."""
    shutdown = (pg.AdminShutdown, pg.CrashShutdown, pg.CannotConnectNow, pg.IdleSessionTimeout)
    return isinstance(error, shutdown) or (
        isinstance(error, psycopg.OperationalError) and error.sqlstate is None
    )


def _words(error: psycopg.Error) -> str:
    """Return the short message of the server or libpq: its details may quote a stored text."""
    message = error.diag.message_primary or str(error) or type(error).__name__
    return " ".join(message.split())
