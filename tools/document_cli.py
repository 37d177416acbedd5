"""Write the reference part of ``docs/reference/cli.md`` from the help texts of the commands.

Run as ``python -m tools.document_cli``. A test compares the result with the committed page.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from treering.cli.main import app
from treering.cli.options import option_names
from treering.cli.run import Globals

TARGET = Path(__file__).resolve().parent.parent / "docs" / "reference" / "cli.md"
MARK = "<!-- What follows is written by tools/document_cli.py; change the help texts instead. -->"
_EVERYWHERE = frozenset(option_names(Globals)) | {"help"}


def commands() -> Iterator[tuple[str, Any]]:
    """Yield every command with its full name, also those of sub-apps."""
    yield from _below("treering", typer.main.get_command(app))


def document(text: str) -> str:
    """Return the page with a new reference part."""
    root = typer.main.get_command(app)
    parts = [text.partition(MARK)[0] + MARK, "## Options of every command"]
    parts.append(_table(one for one in root.params if one.name in _EVERYWHERE))
    for name, found in commands():
        parts.append(f"## `{name}`\n\n{found.help}")
        parts.append(f"`{name} {' '.join(_usage(found))}`")
        parts.append(_table(one for one in found.params if not _is_shared(one, root)))
    return "\n\n".join(part for part in parts if part) + "\n"


def _below(name: str, found: Any) -> Iterator[tuple[str, Any]]:
    found = found.load() if hasattr(found, "load") else found
    if not hasattr(found, "list_commands"):
        yield name, found
        return
    if found.invoke_without_command:
        yield name, found
    with typer.Context(found) as context:
        for one in found.list_commands(context):
            command = found.get_command(context, one)
            if not command.hidden:
                yield from _below(f"{name} {one}", command)


def _usage(found: Any) -> Iterator[str]:
    for one in found.params:
        if one.param_type_name == "argument":
            shown = f"{_argument(one)}..." if one.nargs == -1 else _argument(one)
            yield shown if one.required else f"[{shown}]"
    yield "[OPTIONS]"


def _is_shared(option: Any, root: Any) -> bool:
    """Return whether this is an option of every command, and not a different one of that name."""
    everywhere = {one.name: one.help for one in root.params if one.name in _EVERYWHERE}
    same = option.name in everywhere and option.help in (everywhere[option.name], None)
    return same or option.name in ("help", "as_json")


def _table(parameters: Any) -> str:
    rows = [f"| {_names(one)} | {' '.join((one.help or '').split())} |" for one in parameters]
    return "\n".join(["| | |", "|---|---|", *(row for row in rows)]) if rows else ""


def _names(one: Any) -> str:
    if one.param_type_name == "argument":
        return f"`{_argument(one)}`"
    return ", ".join(f"`{name}`" for name in (*one.opts, *one.secondary_opts))


def _argument(one: Any) -> str:
    return str(one.metavar or one.name).replace("...", "").strip("[]").upper()


if __name__ == "__main__":
    TARGET.write_text(document(TARGET.read_text("utf-8")), "utf-8")
