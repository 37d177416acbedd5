"""The SQL scripts that come with the package: each engine has a folder of migrations."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources


@cache
def migration_scripts(package: str) -> Mapping[int, str]:
    """The migrations of a package of the journal by number, each as it is written."""
    folder = resources.files(package).joinpath("migrations")
    return {
        int(script.name[:4]): script.read_text("utf-8")
        for script in folder.iterdir()
        if script.name.endswith(".sql")
    }
