"""An indexed file as bytes: JSON for the outline, columns as they lie in memory."""

from __future__ import annotations

import json
import math
import zlib
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treering.views.code.graph.code_graph import Candidates, Trunk
from treering.views.code.graph.operator import CallGain
from treering.views.code.graph.resolve import CallTarget
from treering.views.code.index.code_index import NO_TREE, IndexedFile
from treering.views.code.parse.cuts import Lines
from treering.views.code.parse.outline import (
    CallSite,
    CodeDefinition,
    ImportedName,
    ParsedFile,
    SourceSpan,
    TypedVariable,
)

_LEVEL = 1
"""Source code shrinks to a fifth at zlib's fastest level; higher ones gain little."""


def dump_file(file: IndexedFile) -> bytes:
    """The bytes of a file; ``load_file`` is the inverse."""
    parsed = file.parsed
    outline = {
        "language": parsed.language,
        "definitions": parsed.definitions,
        "calls": parsed.calls,
        "imports": parsed.imports,
        "bindings": parsed.bindings,
        "comments": parsed.comments,
        "has_errors": parsed.has_errors,
    }
    none = np.zeros((0, 2), dtype=np.uint32)
    arrays: dict[str, NDArray[Any]] = {
        "source": np.frombuffer(parsed.source, dtype=np.uint8),
        "outline": np.frombuffer(json.dumps(outline, default=_fields).encode(), dtype=np.uint8),
        "fragments": np.array(
            [[item.first, item.last, item.definition] for item in file.fragments], dtype=np.int32
        ).reshape(-1, 3),
        "term_counts": np.array([len(item) for item in file.terms], dtype=np.int32),
        "terms": np.concatenate([none, *file.terms]),
        "parent": file.trunk.parent,
        "calls": file.trunk.calls,
        "definitions": file.trunk.definitions,
        "fragment": file.trunk.fragment,
        "node": file.trunk.node,
        "share": file.trunk.share,
    }
    if file.vectors is not None:
        arrays["vectors"] = file.vectors
    return zlib.compress(_dump_arrays(arrays), _LEVEL)


def load_file(data: bytes) -> IndexedFile:
    """The file that ``dump_file`` made ``data`` of."""
    arrays = _load_arrays(zlib.decompress(data))
    bounds = np.cumsum(arrays["term_counts"])[:-1]
    counted = np.split(arrays["terms"], bounds) if len(arrays["term_counts"]) else []
    columns = {name: arrays[name] for name in ("parent", "calls", "definitions")}
    entries = {name: arrays[name] for name in ("fragment", "node", "share")}
    source = arrays["source"].tobytes()
    outline = arrays["outline"].tobytes()
    fragments = arrays["fragments"].tolist()
    return IndexedFile(
        source=source,
        decode=cache(lambda: _parse_outline(json.loads(outline), source)),
        fragments=tuple(Lines(*row) for row in fragments),
        terms=tuple(counted),
        trunk=Trunk(**columns, fragments=len(fragments), **entries),
        vectors=arrays.get("vectors"),
    )


def dump_gain(gain: CallGain) -> bytes:
    """The bytes of the gain of paths through calls."""
    arrays: dict[str, NDArray[Any]] = {
        "row": gain.row.astype(np.int32),
        "column": gain.column.astype(np.int32),
        "value": gain.value,
    }
    return zlib.compress(_dump_arrays(arrays), _LEVEL)


def load_gain(data: bytes) -> CallGain:
    """The inverse of ``dump_gain``."""
    arrays = _load_arrays(zlib.decompress(data))
    return CallGain(
        arrays["row"].astype(np.int64), arrays["column"].astype(np.int64), arrays["value"]
    )


def _dump_arrays(arrays: dict[str, NDArray[Any]]) -> bytes:
    """Arrays by name: the length of a head, the head, and their bytes one after another.

    numpy's own format has a head for each array, which takes longer to read than the array.
    """
    plain = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    shapes = [(name, array.dtype.str, array.shape) for name, array in plain.items()]
    head = json.dumps(shapes).encode()
    return b"".join([len(head).to_bytes(4, "little"), head, *(a.tobytes() for a in plain.values())])


def _load_arrays(data: bytes) -> dict[str, NDArray[Any]]:
    at = 4 + int.from_bytes(data[:4], "little")
    arrays: dict[str, NDArray[Any]] = {}
    for name, kind, shape in json.loads(data[4:at]):
        dtype, count = np.dtype(kind), math.prod(shape)
        arrays[name] = np.frombuffer(data, dtype, count, at).reshape(shape)
        at += count * dtype.itemsize
    return arrays


def dump_calls(candidates: Candidates) -> bytes:
    """The bytes of a file's call candidates."""
    return zlib.compress(json.dumps(candidates).encode(), _LEVEL)


def load_calls(data: bytes) -> Candidates:
    """The candidates that ``dump_calls`` made ``data`` of."""
    rows = json.loads(zlib.decompress(data))
    return [tuple(CallTarget(path, place) for path, place in targets) for targets in rows]


def _parse_outline(outline: dict[str, Any], source: bytes) -> ParsedFile:
    return ParsedFile(
        language=outline["language"],
        source=source,
        tree=NO_TREE,
        definitions=tuple(map(_definition, outline["definitions"])),
        calls=tuple(
            CallSite(name, receiver, SourceSpan(*span), node, scope)
            for name, receiver, span, node, scope in outline["calls"]
        ),
        imports=tuple(ImportedName(*row) for row in outline["imports"]),
        bindings=tuple(TypedVariable(*row) for row in outline["bindings"]),
        comments=tuple(SourceSpan(*row) for row in outline["comments"]),
        has_errors=outline["has_errors"],
    )


def _definition(row: list[Any]) -> CodeDefinition:
    fields = dict(zip(CodeDefinition.__slots__, row, strict=True))
    body = fields["body"]
    fields |= {
        "span": SourceSpan(*fields["span"]),
        "body": None if body is None else SourceSpan(*body),
        "bases": tuple(fields["bases"]),
        "attributes": tuple(fields["attributes"]),
    }
    return CodeDefinition(**fields)


def _fields(value: Any) -> list[Any]:
    """The fields of a slotted dataclass, which JSON does not know."""
    return [getattr(value, name) for name in value.__slots__]
