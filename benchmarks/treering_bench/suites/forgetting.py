"""Forgetting replay: does a change undo what an earlier round of a dialogue asked for?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from treering_bench import forgetting
from treering_bench.read import only_file
from treering_bench.registry import DataSource, Replay, register


def replay(path: Path, limit: int | None) -> dict[str, Any]:
    """The figures of the JSON lines file at ``path``, or in that folder."""
    return forgetting.replay(only_file(path, "*.jsonl"), limit)


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
