"""How many examples a property test makes, where those of the profile are too few or too many."""

from __future__ import annotations

from hypothesis import settings

USUAL = 30
"""Those of the profile ``treering``."""


def examples(count: int) -> settings:
    """For a test: so many examples in an ordinary run, and in the same proportion in others."""
    return settings(max_examples=max(count * settings().max_examples // USUAL, 1))
