"""A check of a model's file that does not need the package that loads it."""

from __future__ import annotations

from pathlib import Path

from treering import files
from treering.errors import LLMNotConfigured

_MAGIC = b"GGUF"


def existing_gguf(path: Path) -> Path:
    """``path``, which is a GGUF file. Raises LLMNotConfigured if it is not."""
    try:
        with files.open_file(path) as file:
            magic = file.read(len(_MAGIC))
    except OSError as error:
        raise LLMNotConfigured(
            f"cannot read the model {str(path)!r} ({error.strerror}); give the path of a GGUF file"
        ) from error
    if magic != _MAGIC:
        raise LLMNotConfigured(f"{str(path)!r} is not a GGUF file; give the path of one")
    return path
