"""What an error tells to do next, in the words of who asked: of a server's clients and of models.

The library's messages speak to those who write Python or use the shell. Neither helps a client that
knows routes, nor a model that knows tools.
"""

from __future__ import annotations

from typing import Final, Literal

Interface = Literal["rest", "mcp"]

_STEPS: Final[dict[str, dict[Interface, str]]] = {
    "`treering list` shows the ids": {
        "rest": "`GET /v1/entries` lists the ids",
        "mcp": "the tool `list` shows the ids",
    },
    "`treering memo` shows the ids": {
        "rest": "`GET /v1/memos` lists the ids",
        "mcp": "the resource treering://memos shows the ids",
    },
    "see `memory.tree.roots()`": {
        "rest": "`GET /v1/tree` gives the roots",
        "mcp": "the resource treering://tree gives the roots",
    },
    "index it first: `treering code index FOLDER`": {
        "rest": "who runs the server indexes one with `treering code index FOLDER`",
        "mcp": "ask your user to run `treering code index FOLDER`",
    },
    "forget() needs an entry id or a filter, such as source='novel.txt'": {
        "rest": 'give ids or a filter, such as {"source": "novel.txt"}',
        "mcp": 'give ids or a filter, such as {"source": "novel.txt"}',
    },
    "use memory.memos instead": {
        "rest": "use `PATCH /v1/memos/{memo_id}` instead",
        "mcp": "it is not for entries of your own",
    },
    "with supersede(old, None)": {
        "rest": "with null as `new`",
        "mcp": "with null as `new`",
    },
}
"""What messages say to do, and what that is by interface."""


def spoken(message: str, interface: Interface) -> str:
    """A message of an error as somebody is told it who asks by that interface."""
    for step, by_interface in _STEPS.items():
        message = message.replace(step, by_interface[interface])
    return message
