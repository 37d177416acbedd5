from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import programs

BLOCK = """
import sys
absent = {names!r}
for name in [*sys.modules]:
    if name.split(".")[0] in ("treering", *absent):
        del sys.modules[name]
sys.modules.update(dict.fromkeys(absent))
"""
"""A forked program has imported them, and treering: that is to be imported without them."""


def run(blocked: list[str], code: str) -> subprocess.CompletedProcess[str]:
    return programs.run(
        [sys.executable, "-c", BLOCK.format(names=blocked) + code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


EXTRAS = ["openai", "httpx2", "pydantic", "json_repair", "xllamacpp"]


def test_everything_but_the_backends_imports_without_any_extra() -> None:
    modules = "contract, prompts, scripted, settings, structured, tokens"
    done = run(EXTRAS, f"from treering.llm import {modules}")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("blocked", "spec", "said"),
    [
        (["openai"], "http://localhost:1/v1#m", "openai is not installed; run: {}[llm]'"),
        (["xllamacpp"], "{}/m.gguf", "xllamacpp is not installed; run: {}[local]'"),
        (EXTRAS, "{}/m.gguf", "xllamacpp is not installed; run: {}[local]'"),
    ],
)
def test_a_missing_extra_names_its_install_command(
    blocked: list[str], spec: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    spec = spec.format(tmp_path)
    done = run(blocked, f"from treering.llm.settings import open_llm; open_llm({spec!r})")
    assert said.format("pip install 'treering") in done.stderr


def test_a_missing_file_is_told_before_a_missing_extra() -> None:
    done = run(EXTRAS, "from treering.llm.settings import open_llm; open_llm('absent.gguf')")
    assert "cannot read the model 'absent.gguf' (No such file" in done.stderr
    assert "MissingExtra" not in done.stderr
