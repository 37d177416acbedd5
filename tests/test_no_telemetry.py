"""Nothing is sent or noted down for anybody: not by treering, nor by what it stands on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
WORK = """
from treering import Memory
with Memory.open("life.db") as memory:
    memory.add("Ana moved to Porto.")
    assert memory.search("Porto", k=1)
"""


def test_the_bundled_model_leaves_no_record_of_its_use(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    kept = {"PATH", "LD_LIBRARY_PATH", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "SYSTEMROOT"}
    environment = {name: value for name, value in os.environ.items() if name in kept}
    environment |= {"HOME": str(home), "USERPROFILE": str(home), "PYTHONPATH": str(ROOT)}
    subprocess.run(
        [sys.executable, "-c", WORK], cwd=tmp_path, env=environment, check=True, timeout=60
    )
    assert [file for file in home.rglob("*") if file.is_file()] == []
