"""Commands offer what the operations behind them take, with the same defaults."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature

import pytest

from treering.cli import recall
from treering.cli.options import option_names
from treering.cli.run import Globals
from treering.ingest.where import Where
from treering.memory import Memory

OPTION_NAMES = {"also": "spaces", "relation": "relations", "meta": "metadata"}
"""What may be repeated has a singular; ``--meta KEY=VALUE`` is one key of the metadata."""

ONLY_IN_PYTHON = {"self", "progress", "count_tokens", "omit"}
"""Callbacks, and ids that only a program holds."""


def options(command: str) -> dict[str, object]:
    """The options of a command with their defaults, by the names that operations have for them."""
    [callback] = [
        registered.callback
        for registered in recall.commands.registered_commands
        if registered.callback is not None and registered.callback.__name__ == command
    ]
    everywhere = {"ctx", *option_names(Globals)}
    return {
        OPTION_NAMES.get(name, name): parameter.default
        for name, parameter in signature(callback).parameters.items()
        if name not in everywhere
    }


@pytest.mark.parametrize(
    ("command", "operation", "beside"),
    [
        ("search", Memory.search, {"explain", "whole"}),
        ("context", Memory.context, set()),
        ("ask", Memory.ask, set()),
        ("chat", Memory.chat_stream, {"message", "spaces"}),
    ],
)
def test_a_command_has_the_options_of_its_operation(
    command: str, operation: Callable[..., object], beside: set[str]
) -> None:
    parameters = dict(signature(operation).parameters)
    filters = set(Where.__annotations__) if parameters.pop("where", None) else set()
    offered = options(command)
    taken = (parameters.keys() | filters) - ONLY_IN_PYTHON
    assert offered.keys() ^ taken <= beside
    for name in offered.keys() & parameters.keys():
        default = parameters[name].default
        assert offered[name] == default or default is Parameter.empty, name
