"""A model in a GGUF file that is made in a moment: it is loaded as any, and writes nonsense."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np

WIDTH = 32
HEADS = 2
HIDDEN = 64
CONTEXT = 512
TEMPLATE = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
CONTROL = ["<unk>", "<s>", "</s>"]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
LETTERS = ["▁", *"abcdefghijklmnopqrstuvwxyz"]
TOKENS = [*CONTROL, *BYTES, *LETTERS]


def write_tiny_model(path: Path) -> Path:
    """Write a llama of one layer whose weights are random, the same each time, and give its path.

    Each letter is a token, and so is each byte that is none.
    """
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(1)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    _add_tokenizer(writer)
    for name, shape in _shapes().items():
        writer.add_tensor(name, _weights(shape))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add_tokenizer(writer: gguf.GGUFWriter) -> None:
    types = [
        *([gguf.TokenType.CONTROL] * len(CONTROL)),
        *([gguf.TokenType.BYTE] * len(BYTES)),
        *([gguf.TokenType.NORMAL] * len(LETTERS)),
    ]
    writer.add_tokenizer_model("llama")
    writer.add_token_list(TOKENS)
    writer.add_token_scores([0.0] * len(TOKENS))
    writer.add_token_types(types)
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template(TEMPLATE)


def _shapes() -> dict[str, tuple[int, ...]]:
    square = (WIDTH, WIDTH)
    return {
        "token_embd.weight": (len(TOKENS), WIDTH),
        "output.weight": (len(TOKENS), WIDTH),
        "output_norm.weight": (WIDTH,),
        "blk.0.attn_norm.weight": (WIDTH,),
        "blk.0.ffn_norm.weight": (WIDTH,),
        **{f"blk.0.attn_{part}.weight": square for part in ("q", "k", "v", "output")},
        **{f"blk.0.ffn_{part}.weight": (HIDDEN, WIDTH) for part in ("gate", "up")},
        "blk.0.ffn_down.weight": (WIDTH, HIDDEN),
    }


def _weights(shape: tuple[int, ...]) -> np.ndarray:
    if len(shape) == 1:
        return np.ones(shape, np.float32)
    return np.random.default_rng(len(TOKENS)).standard_normal(shape).astype(np.float32)
