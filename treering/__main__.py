"""The command ``treering``, also ``python -m treering``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command. A hook stands before a prompt, so it does not wait for a parser."""
    from treering.agents.hook import EVENTS
    from treering.agents.hook import main as hook

    arguments = sys.argv[1:]
    if (
        len(arguments) > 1
        and arguments[0] == "hook"
        and arguments[1] in EVENTS
        and {"--help", "-h"}.isdisjoint(arguments)
    ):
        sys.exit(hook(arguments[1:]))
    from treering.cli.main import app

    app()


if __name__ == "__main__":
    main()
