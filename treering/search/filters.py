"""Which fragments meet a filter: read off the columns in memory, where these can tell."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from treering.journal import entries
from treering.journal.contract import Reader
from treering.journal.entries import micros
from treering.records import KINDS, Filter
from treering.search.metadata import is_plain
from treering.search.relations.contract import Labels
from treering.search.snapshot import Snapshot

Mask = NDArray[np.bool_]

FEW: Final = 8  # codes that are compared one after the other
PRECISE_S: Final = 2.0**32
"""Seconds from the epoch, 136 years, up to which a float tells microseconds apart."""


def allowed_rows(reader: Reader, snapshot: Snapshot, condition: Filter) -> Mask | None:
    """Which rows meet a filter; None if all do. Raises FilterError."""
    expired = entries.expired(reader, snapshot.state.id)  # erased soon, and found no longer
    if condition == Filter() and not expired:
        return None
    entries.compile_filter(condition, reader.dialect)  # raises for what cannot mean anything
    rest, masks = _by_columns(reader, snapshot, condition)
    if rest != Filter():
        seqs = np.fromiter(entries.matching(reader, snapshot.state.id, rest), dtype=np.int64)
        masks.append(np.isin(snapshot.entry, seqs))
    if expired:
        masks.append(~_among(snapshot.entry, expired))
    allowed = masks[0]
    for mask in masks[1:]:
        allowed &= mask
    return allowed


def _by_columns(reader: Reader, snapshot: Snapshot, condition: Filter) -> tuple[Filter, list[Mask]]:
    """The conditions that the columns can tell, as masks, and a filter with all others."""
    items, space = snapshot.items, snapshot.state.id
    rest = condition
    masks: list[Mask] = []
    if condition.source is not None:
        sources = entries.sources_named(reader, space, condition.source)
        masks.append(_among(items.document, sources))
        rest = replace(rest, source=None)
    if condition.speaker is not None:
        code = snapshot.names.speakers.get(condition.speaker)
        masks.append(_among(items.speaker, [] if code is None else [code]))
        rest = replace(rest, speaker=None)
    if condition.session is not None and snapshot.named is not None:
        masks.append(_among(snapshot.named, snapshot.names.sessions(condition.session)))
        rest = replace(rest, session=None)
    if condition.kind is not None:
        masks.append(snapshot.kind == KINDS.index(condition.kind))
        rest = replace(rest, kind=None)
    if condition.omit:
        masks.append(~_among(snapshot.entry, entries.seqs_of(reader, space, condition.omit)))
        rest = replace(rest, omit=frozenset())
    rest, by_time = _by_time(snapshot, rest)
    rest, by_metadata = _by_metadata(reader, snapshot, rest)
    return rest, [*masks, *by_time, *by_metadata]


def _by_time(snapshot: Snapshot, condition: Filter) -> tuple[Filter, list[Mask]]:
    since = None if condition.since is None else micros(condition.since) / 1e6
    until = None if condition.until is None else micros(condition.until) / 1e6
    if max(abs(since or 0), abs(until or 0)) >= PRECISE_S:
        return condition, []
    at = snapshot.items.at  # NaN, where no time is known, is neither before nor after
    masks = [] if since is None else [at >= since]
    masks += [] if until is None else [at < until]
    return replace(condition, since=None, until=None), masks


def _by_metadata(
    reader: Reader, snapshot: Snapshot, condition: Filter
) -> tuple[Filter, list[Mask]]:
    plain = {key: value for key, value in condition.metadata.items() if is_plain(value)}
    rest = {key: value for key, value in condition.metadata.items() if key not in plain}
    masks = [
        snapshot.metadata.meeting(reader, snapshot.state.id, snapshot.entry, key, value)
        for key, value in plain.items()
    ]
    return replace(condition, metadata=rest), masks


def _among(column: Labels, codes: list[int]) -> Mask:
    """Where a column has one of some codes."""
    if len(codes) > FEW:
        mask: Mask = np.isin(column, np.array(codes, dtype=column.dtype))
        return mask
    mask = np.zeros(len(column), dtype=np.bool_)
    for code in codes:
        mask |= column == code
    return mask
