"""The sentences of a memo's summary, and whether its lines support them."""

from __future__ import annotations

from collections.abc import Sequence

from treering.views.memos.record import Claim
from treering.views.support import SupportCheck, claims_of


class Check(SupportCheck):
    """Checks the summaries of memos."""

    def __call__(self, summary: str, lines: Sequence[str]) -> tuple[Claim, ...]:
        """The sentences of a summary, and whether ``lines``, as "speaker: text", support each."""
        claims = claims_of(summary)
        verdicts = self.verdicts(claims, lines)
        return tuple(Claim(*pair) for pair in zip(claims, verdicts, strict=True))
