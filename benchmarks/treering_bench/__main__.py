"""The command ``treering-bench``, also ``python -m treering_bench``."""

from __future__ import annotations


def main() -> None:
    """Run the command."""
    from treering_bench.cli import app

    app()


if __name__ == "__main__":
    main()
