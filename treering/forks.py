"""Forked processes: a child lacks the threads of its parent, and its locks may stay locked."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable


def call_in_child(function: Callable[[], None]) -> None:
    """Call a function in each process that is forked from this one."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=function)


def abandon(thing: object) -> None:
    """Never free an object: its library would free it wrongly in a forked process."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
