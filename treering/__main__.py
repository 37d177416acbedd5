"""The command ``treering``, also ``python -m treering``."""

from __future__ import annotations

import gc
import os
import signal
import sys


def _leave(*_: object) -> None:
    """End at once: amid an import Ctrl-C would be a traceback, or be lost."""
    os.write(2, b"interrupted\n")
    os._exit(130)


def main() -> None:
    """Run the command. Neither a prompt with a hook nor an agent's start waits for a parser."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:  # else the shell has it ignored
        signal.signal(signal.SIGINT, _leave)
    arguments = sys.argv[1:]
    if arguments[:1] == ["mcp"] and {"--help", "-h"}.isdisjoint(arguments):
        from treering.serve.mcp import front

        front.begin()
    from treering.agents.hook import EVENTS
    from treering.agents.hook import main as hook

    if len(arguments) > 1 and arguments[0] == "hook" and arguments[1] in EVENTS:
        if {"--help", "-h"}.isdisjoint(arguments):
            sys.exit(hook(arguments[1:]))
        sys.argv[1:] = ["hook", "--help"]
    gc.disable()  # until the command runs: imports make much to look through, and no garbage
    from treering.cli.main import app

    signal.signal(signal.SIGINT, before)
    app()


if __name__ == "__main__":
    main()
