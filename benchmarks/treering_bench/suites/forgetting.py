"""Forgetting replay: does a change undo what an earlier round of a dialogue asked for?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from treering.errors import UnknownName
from treering_bench import forgetting
from treering_bench.read import only_file
from treering_bench.registry import DataSource, Replay, register

_SANDBOXED, _STATIC = "all", "static"


def replay(path: Path, policies: Sequence[str], limit: int | None) -> dict[str, Any]:
    """Every stage of the detector, or with the policy ``static`` only the one that runs no code."""
    unknown = [name for name in policies if name not in (_SANDBOXED, _STATIC)]
    if unknown:
        raise UnknownName(
            f"no policy {unknown[0]!r} for the forgetting replay; there are {_SANDBOXED} (every "
            f"stage; recorded code runs in the sandbox) and {_STATIC} (no code is run)"
        )
    file = only_file(path, "*.jsonl")
    return forgetting.replay(file, run=_SANDBOXED in policies, limit=limit)


register(
    Replay(
        name="forgetting",
        title="Forgetting replay",
        replay=replay,
        data=DataSource(
            url="https://github.com/zhu-zhu-ding/CodeIF-Bench (dialogues recorded on its tasks)",
            licence="none stated: research use",
            files="JSON lines {model, task_id, rounds}",
            sha256={
                "dev.jsonl": "844e6cb9853dc6ddcc28f1561d4c8808f44c9c6cfa74553681d6d801626f309c"
            },
        ),
    )
)
