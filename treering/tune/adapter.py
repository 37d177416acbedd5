"""A LoRA adapter as a GGUF file, which llama.cpp opens beside the model that it was trained on."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from treering import files
from treering.errors import InputError, LLMNotConfigured, MissingExtra
from treering.llm.settings import existing_gguf

try:
    import gguf
except ModuleNotFoundError as missing:
    raise MissingExtra.of("gguf", "tune") from missing

Matrix = NDArray[np.float32]

TUNED: Final = ("llama", "qwen2")
"""Architectures whose weights have the names of ``MODULES``."""

MODULES: Final[Mapping[str, str]] = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
"""Names of the linear maps of a layer, in transformers and in GGUF."""


@dataclass(frozen=True, slots=True)
class LowRank:
    """The change of one linear map: ``b @ a``, scaled. Shapes (rank, in) and (out, rank)."""

    a: Matrix
    b: Matrix


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """Properties of a model for a converter: its architecture, layers, and heads by weight."""

    architecture: str
    layers: int
    heads: Mapping[str, int]


def model_facts(path: Path) -> ModelFacts:
    """Read them from a GGUF file. Raises LLMNotConfigured for a model that cannot be tuned."""
    existing_gguf(path)
    files.refuse_memory(path)
    try:
        fields = gguf.GGUFReader(path).fields
        architecture = str(fields["general.architecture"].contents())
        layers = int(_number(fields, architecture, "block_count"))
        queries = int(_number(fields, architecture, "attention.head_count"))
        keys = int(_number(fields, architecture, "attention.head_count_kv", queries))
    except (ValueError, KeyError, IndexError, OverflowError, TypeError) as error:
        raise LLMNotConfigured(
            f"{str(path)!r} cannot be tuned: its header cannot be read ({error}); it may be cut off"
        ) from error
    if architecture not in TUNED:
        raise LLMNotConfigured(
            f"{str(path)!r} cannot be tuned: its architecture is {architecture!r}; give a model "
            f"of {' or '.join(map(repr, TUNED))}, such as SmolLM2 or Qwen2.5"
        )
    return ModelFacts(architecture, layers, {"attn_q": queries, "attn_k": keys})


def write_adapter(
    path: Path, facts: ModelFacts, changes: Mapping[str, LowRank], alpha: float
) -> None:
    """Write the changes, by transformers' names (``layers.0.mlp.up_proj``), into a GGUF file.

    The file is replaced whole. llama.cpp scales each change by ``alpha / rank``. Raises InputError
    for a name that is not a map of the model, and where the file cannot be written.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="treering-adapter-") as folder:
            part = Path(folder) / "adapter.gguf"
            with closing(gguf.GGUFWriter(part, facts.architecture)) as writer:
                _write(writer, facts, changes, alpha)
            content = files.read_bytes(part)
    except OSError as error:
        raise InputError(
            f"the adapter cannot be put together in {tempfile.gettempdir()} ({error.strerror}); "
            "make room there, or name another folder by TMPDIR"
        ) from error
    files.replace_file(path, content, private=True)


def _write(writer: Any, facts: ModelFacts, changes: Mapping[str, LowRank], alpha: float) -> None:
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", alpha)
    for name, change in changes.items():
        tensor = _tensor(name, facts)
        b = _as_llama(change.b, facts, tensor.rpartition(".")[2])
        writer.add_tensor(f"{tensor}.weight.lora_a", change.a.astype(np.float16))
        writer.add_tensor(f"{tensor}.weight.lora_b", b.astype(np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()


def _tensor(name: str, facts: ModelFacts) -> str:
    _, layer, module = name.split(".", 2)
    if int(layer) >= facts.layers or module not in MODULES:
        raise LLMNotConfigured(f"{name!r} is not a linear map of a model of {facts.layers} layers")
    return f"blk.{layer}.{MODULES[module]}"


def _as_llama(b: Matrix, facts: ModelFacts, weight: str) -> Matrix:
    """Rows of queries and keys in the order of GGUF's llama.

    GGUF has the two halves of a head's rotary dimensions interleaved, transformers one after the
    other. Only llama's are stored so.
    """
    if facts.architecture != "llama" or weight not in facts.heads:
        return b
    halves = b.reshape(facts.heads[weight], 2, -1, b.shape[1])
    return np.ascontiguousarray(halves.swapaxes(1, 2).reshape(b.shape))


def _number(fields: Mapping[str, Any], architecture: str, name: str, default: int = 0) -> int:
    field = fields.get(f"{architecture}.{name}")
    if field is None and default:
        return default
    return int(fields[f"{architecture}.{name}"].contents())
