"""What an error tells to do next, in the words of who asks.

The library's messages speak to those who write Python. That helps no client of a server, which
knows routes, no model, which knows tools, and nobody at a shell, who knows commands and options.
"""

from __future__ import annotations

import re
from typing import Final, Literal

Interface = Literal["cli", "rest", "mcp"]

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
        "cli": "`treering tree` shows them",
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
        "cli": "with `treering supersede OLD --undo`",
        "rest": "with null as `new`",
        "mcp": "with null as `new`",
    },
    "spaces() lists all, add() makes one, and so does opening with create=True": {
        "cli": "`treering spaces` lists all, --space or TREERING_SPACE names one, `treering add` "
        "or `treering code index` makes one",
        "rest": "`GET /v1/spaces` lists all, `POST /v1/entries` makes one, and so does "
        "`PUT /v1/spaces/NAME`",
        "mcp": "the tool `remember` makes one",
    },
    "llm='none' is no language model; name one, or leave it out": {
        "cli": "--llm none is no language model; name one, or leave it out",
        "rest": "the server was started with --llm none, so that it has no language model",
        "mcp": "treering was started with --llm none, so that it has no language model",
    },
    "give the root of one:": {
        "cli": "be in the folder of one or name it with --root, or drop one with `treering code "
        "forget --root FOLDER`:",
        "rest": "give the `root` of one:",
        "mcp": "give the `root` of one:",
    },
    "add a document with add()": {
        "cli": "add a document with `treering add`",
        "rest": "add a document with `POST /v1/entries`",
        "mcp": "add a document with the tool `remember`",
    },
    "or add() the text and ask about it": {
        "cli": "or add the text with `treering add` and ask about it",
        "rest": "or add the text with `POST /v1/entries` and ask about it",
        "mcp": "or add the text with the tool `remember` and ask about it",
    },
    "edit() needs a topic or a summary": {
        "cli": "give --topic or --summary",
        "rest": "give `topic` or `summary`",
        "mcp": "give `topic` or `summary`",
    },
    "merge() needs the ids of": {
        "cli": "give the ids of",
        "rest": "give the ids of",
        "mcp": "give the ids of",
    },
    "(llm='model.gguf'), or compress with compressor='sentences'": {
        "cli": "(--llm model.gguf), or compress with --compressor sentences",
        "rest": "(`treering serve --llm model.gguf`), or compress with the `compressor` sentences",
        "mcp": "(--llm model.gguf), or compress with the `compressor` sentences",
    },
    "give the changed model another name and call reembed()": {
        "cli": "give the changed model another name and run `treering reembed NAME`",
        "rest": "who runs the server gives the changed model another name and runs "
        "`treering reembed NAME`",
        "mcp": "ask your user to give the changed model another name and to run "
        "`treering reembed NAME`",
    },
    "give sync=True and force=True": {"cli": "add --sync --force"},
    "call settle() again": {
        "cli": "run `treering settle` again",
        "rest": "call `POST /v1/settle` again",
        "mcp": "ask your user to run `treering settle`",
    },
    "call settle() without upgrade": {
        "cli": "leave --upgrade out",
        "rest": "leave `upgrade` out",
        "mcp": "leave `upgrade` out",
    },
}
"""What messages say to do, and what that is by interface; where it says nothing, the same."""

_STEPS_WITH_NAMES: Final[dict[re.Pattern[str], dict[Interface, str]]] = {
    re.compile(r"open it with embedder='[^']*' and change the model with reembed\('([^']*)'\)"): {
        "cli": r"leave --embedder and TREERING_EMBEDDER out, or change the model with "
        r"`treering reembed \1`",
        "rest": "who runs the server starts it without --embedder, or changes the model with "
        r"`treering reembed \1`",
        "mcp": "ask your user to start treering without --embedder, or to change the model with "
        r"`treering reembed \1`",
    },
    re.compile(r"open it with '([^']*)', or call reembed\('([^']*)'\) to change to that"): {
        "cli": r"open it with --embedder \1, or change to that with `treering reembed \2`",
        "rest": r"who runs the server starts it with --embedder \1, or changes to that with "
        r"`treering reembed \2`",
        "mcp": r"ask your user to start treering with --embedder \1, or to change to that with "
        r"`treering reembed \2`",
    },
}
"""The same of steps that name something, which may have to be named again."""


def spoken(message: str, interface: Interface) -> str:
    """A message of an error as somebody is told it who asks by that interface."""
    for step, by_interface in _STEPS.items():
        message = message.replace(step, by_interface.get(interface, step))
    for pattern, by_interface in _STEPS_WITH_NAMES.items():
        message = pattern.sub(by_interface[interface], message)
    return message
