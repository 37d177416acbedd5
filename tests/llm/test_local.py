from __future__ import annotations

import signal
from pathlib import Path

import pytest

from treering.errors import LLMNotConfigured
from treering.llm.settings import open_llm

pytest.importorskip("xllamacpp", reason="needs the extra 'local'")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(LLMNotConfigured, match=r"absent\.gguf.*No such file"):
        open_llm(str(tmp_path / "absent.gguf"), environ={})


def test_a_folder_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(LLMNotConfigured, match="directory"):
        open_llm(environ={"TREERING_LLM_GGUF": str(tmp_path)})


def test_a_file_of_another_kind_is_refused_before_llama_cpp_sees_it(tmp_path: Path) -> None:
    path = tmp_path / "notes.gguf"
    path.write_text("dear diary")
    with pytest.raises(LLMNotConfigured, match="is not a GGUF file"):
        open_llm(str(path), environ={})


def test_a_cut_off_model_cannot_be_loaded_and_ctrl_c_stays_pythons(tmp_path: Path) -> None:
    path = tmp_path / "cut.gguf"
    path.write_bytes(b"GGUF\x03\0\0\0" + b"\0" * 100)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(LLMNotConfigured, match="cannot be loaded; it may be cut off"):
        open_llm(str(path), environ={})
    assert signal.getsignal(signal.SIGINT) is before
