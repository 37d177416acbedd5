"""What tests look at of an error: its class and its data, not its sentence."""

from __future__ import annotations

from typing import Any

import pytest

from treering.errors import TreeringError


def raises(kind: type[TreeringError], **data: Any) -> pytest.RaisesExc[TreeringError]:
    """Expect an error of just this class, with these values of ``hint`` or ``param``."""

    def check(error: TreeringError) -> bool:
        return type(error) is kind and all(getattr(error, name) == data[name] for name in data)

    return pytest.raises(kind, check=check)
