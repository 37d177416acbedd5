"""The fragments that meet a filter, by the columns in memory and, for the rest, the database."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from functools import reduce
from operator import and_
from typing import Final

import numpy as np

from treering.journal import entries, sources
from treering.journal.contract import Reader
from treering.journal.entries import micros
from treering.journal.filters import compile_filter
from treering.records import KINDS, Filter
from treering.search.relations.contract import Labels
from treering.search.snapshot import Mask, Snapshot
from treering.search.stored import is_plain

FEW: Final = 8  # codes that are compared one after the other
PRECISE_S: Final = 2.0**32
"""Seconds from the epoch, 136 years, up to which a float has microseconds."""


def allowed_rows(
    reader: Reader, snapshot: Snapshot, condition: Filter, without: Collection[int] = ()
) -> Mask | None:
    """Return which rows meet a filter; None if all do.

    The entries whose sequence numbers are ``without`` do not meet it. Raise FilterError.
    """
    expired = entries.expired_seqs(reader, snapshot.state.id)  # erased soon
    hidden = [*expired, *without]
    masks = [~_among(snapshot.entry, hidden)] if hidden else []
    if condition != Filter():
        compile_filter(condition, reader.dialect)  # raises FilterError
        masks += _condition_masks(reader, snapshot, condition)
    return reduce(and_, masks) if masks else None


def _condition_masks(reader: Reader, snapshot: Snapshot, condition: Filter) -> list[Mask]:
    """Return the mask of each condition; the database checks those that no column tells."""
    items, space = snapshot.items, snapshot.state.id
    rest = replace(condition, kind=None, speaker=None, source=None, omit=frozenset())
    masks: list[Mask] = []
    if condition.source is not None:
        numbers = sources.matching_sources(reader, space, condition.source)
        masks.append(_among(items.document, numbers))
    if condition.speaker is not None:
        code = snapshot.names.speakers.get(condition.speaker)
        masks.append(_among(items.speaker, [] if code is None else [code]))
    if condition.session is not None and snapshot.named is not None:
        masks.append(_among(snapshot.named, snapshot.names.sessions(condition.session)))
        rest = replace(rest, session=None)
    if condition.kind is not None:
        masks.append(snapshot.kind == KINDS.index(condition.kind))
    if condition.omit:
        masks.append(~_among(snapshot.entry, entries.seqs_of(reader, space, condition.omit)))
    if all(abs(micros(bound) / 1e6) < PRECISE_S for bound in _bounds(condition)):
        masks += _time_masks(snapshot, condition)
        rest = replace(rest, since=None, until=None)
    values = snapshot.metadata
    plain = {key: value for key, value in rest.metadata.items() if is_plain(value)}
    for key, value in plain.items():
        masks.append(values.rows_with(reader, space, snapshot.entry, key, value))
    others = {key: value for key, value in rest.metadata.items() if key not in plain}
    rest = replace(rest, metadata=others)
    if rest != Filter():
        masks.append(values.matching(reader, space, snapshot.entry, rest))
    return masks


def _bounds(condition: Filter) -> list[datetime]:
    return [bound for bound in (condition.since, condition.until) if bound is not None]


def _time_masks(snapshot: Snapshot, condition: Filter) -> list[Mask]:
    masks: list[Mask] = []
    for bound, is_met in ((condition.since, np.greater_equal), (condition.until, np.less)):
        if bound is None:
            continue
        at = snapshot.items.at  # NaN, where no time is known, is neither before nor after
        if bound.tzinfo is None:
            at = at + 60.0 * snapshot.zone
        masks.append(is_met(at, micros(bound) / 1e6))
    return masks


def _among(column: Labels, codes: list[int]) -> Mask:
    """Return where a column has one of some codes."""
    if len(codes) > FEW:
        mask: Mask = np.isin(column, np.array(codes, dtype=column.dtype))
        return mask
    mask = np.zeros(len(column), dtype=np.bool_)
    for code in codes:
        mask |= column == code
    return mask
