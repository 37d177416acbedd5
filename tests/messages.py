"""All messages of treering's errors, one a line: ``python -m tests.messages`` writes them anew."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from treering.errors import BY_CODE

ROOT = Path(__file__).parents[1]
SNAPSHOT = Path(__file__).with_name("messages.txt")
CLASSES = {kind.__name__ for kind in BY_CODE.values()}


def messages() -> Iterator[str]:
    """Each message where an error is made: module, class, and the text with its expressions."""
    for file in sorted((ROOT / "treering").rglob("*.py")):
        module = file.relative_to(ROOT).as_posix()
        found = {
            f"{module}: {_name(node)}: {_text(node.args[0])}"
            for node in ast.walk(ast.parse(file.read_text("utf-8")))
            if isinstance(node, ast.Call) and _name(node) in CLASSES and node.args
        }
        yield from sorted(found)


def _name(node: ast.Call) -> str:
    return ast.unparse(node.func).rpartition(".")[2]


def _text(node: ast.expr) -> str:
    """A text as it is written, and in braces what is put into it."""
    if isinstance(node, ast.Constant):
        return str(node.value).replace("\n", " ")
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_text, node.values))
    if isinstance(node, ast.FormattedValue):
        return f"{{{ast.unparse(node.value)}}}"
    return f"{{{ast.unparse(node)}}}"


if __name__ == "__main__":
    SNAPSHOT.write_text("\n".join([*messages(), ""]), "utf-8")
