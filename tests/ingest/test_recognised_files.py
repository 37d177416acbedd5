"""Files of a folder that are more than a text: exports, notebooks, front matter."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.ingest.clients import (
    CHATGPT,
    CLAUDE,
    CLAUDE_AI,
    MAIL,
    WHATSAPP,
    write_json,
    write_lines,
    write_slack,
)
from treering import Memory
from treering.errors import InputError
from treering.ingest.transcripts.registry import format_of


def test_exports_in_a_folder_are_skipped_with_the_command_that_reads_them(
    memory: Memory, tmp_path: Path
) -> None:
    folder = tmp_path / "notes"
    write_slack(folder / "slack")
    write_json(folder / "chatgpt" / "conversations.json", CHATGPT)
    write_json(folder / "claude" / "conversations.json", CLAUDE_AI)
    write_lines(folder / "session.jsonl", CLAUDE)
    (folder / "box.mbox").write_bytes(b"From ana\n" + MAIL)
    (folder / "lease.eml").write_bytes(MAIL)
    (folder / "WhatsApp Chat with Ben.txt").write_text(WHATSAPP, "utf-8")
    (folder / "diary.txt").write_text("2026-01-05, 09:15 - woke up\nand went on\n", "utf-8")
    receipt = memory.add(folder)
    assert receipt.added == 1  # the diary
    reasons = {Path(one.path).relative_to(folder).as_posix(): one.reason for one in receipt.skipped}
    assert set(reasons) == {
        *("slack", "chatgpt/conversations.json", "claude/conversations.json", "session.jsonl"),
        *("box.mbox", "lease.eml", "WhatsApp Chat with Ben.txt"),
    }
    assert all("`treering import" in reason for reason in reasons.values())
    with pytest.raises(InputError, match="format mail"):
        memory.add(folder / "lease.eml")
    assert memory.add(folder / "lease.eml", kind="text").added == 1
    assert memory.import_(folder / "slack").added == 2


@pytest.mark.parametrize(
    ("line", "speaker", "text", "at"),
    [
        ("13/8/2023, 9:15 م - ليلى: مرحبا", "ليلى", "مرحبا", "2023-08-13T21:15:00"),
        ("١٣/٨/٢٠٢٣، ٩:١٥ ص - ليلى: مرحبا", "ليلى", "مرحبا", "2023-08-13T09:15:00"),
        ("2023/8/13 下午9:15 - 小明: 你好", "小明", "你好", "2023-08-13T21:15:00"),
        ("[2023/8/13 上午9:15:30] 小明: 你好", "小明", "你好", "2023-08-13T09:15:30"),
        ("2023년 8월 13일 오후 9:15, 민수 : 안녕", "민수", "안녕", "2023-08-13T21:15:00"),
        ("2023. 8. 13. 오전 9:15, 민수 : 안녕", "민수", "안녕", "2023-08-13T09:15:00"),
        ("13/08/23, 9:15 अपराह्न - आशा: नमस्ते", "आशा", "नमस्ते", "2023-08-13T21:15:00"),
    ],
)
def test_whatsapp_is_read_in_the_customs_of_many_phones(
    memory: Memory, tmp_path: Path, line: str, speaker: str, text: str, at: str
) -> None:
    path = tmp_path / "chat.txt"
    path.write_text(f"\u200f{line}\n", "utf-8")
    assert memory.import_(path).added == 1
    (entry,) = memory.entries()
    assert (entry.speaker, entry.text) == (speaker, text)
    assert entry.at == datetime.fromisoformat(at).replace(tzinfo=UTC)


def test_a_line_of_json_may_hold_any_line_separator(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    lines = [line | {"slug": "a\u2028b\u0085c\u2029d\x1ee"} for line in CLAUDE]
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")
    assert format_of(path) is not None
    assert memory.import_(path).added == 5
    chat = tmp_path / "chat.jsonl"
    message = {"role": "user", "content": "One\u2028two\u0085three."}
    chat.write_text(json.dumps(message, ensure_ascii=False) + "\n", "utf-8")
    assert memory.add(chat).added == 1


def test_front_matter_becomes_metadata(memory: Memory, tmp_path: Path) -> None:
    note = tmp_path / "note.md"
    note.write_text(
        '---\ntitle: "The boiler"\ntags: [house, heating]\nauthors:\n  - Ana\n  - Ben\n'
        "date: 2026-03-12\nempty:\n---\nServiced by Kowalski.\n",
        "utf-8",
    )
    memory.add(note, metadata={"title": "Given"})
    (entry,) = memory.entries()
    assert entry.metadata["title"] == "Given"
    assert entry.metadata["tags"] == ["house", "heating"]
    assert entry.metadata["authors"] == ["Ana", "Ben"]
    assert "empty" not in entry.metadata
    assert entry.at == datetime(2026, 3, 12, tzinfo=UTC)
    assert memory.search("boiler service", k=1, metadata={"title": "Given"})


def test_a_notebook_is_its_cells_and_its_outputs_are_counted(
    memory: Memory, tmp_path: Path
) -> None:
    picture = {"output_type": "display_data", "data": {"image/png": "iVBORw0KGgo" * 1000}}
    cells = [
        {"cell_type": "markdown", "source": ["# Tides\n", "of the harbour"]},
        {"cell_type": "code", "source": "height = 3.2", "outputs": [picture, picture]},
    ]
    path = tmp_path / "tides.ipynb"
    path.write_text(json.dumps({"cells": cells, "nbformat": 4, "metadata": {}}), "utf-8")
    receipt = memory.add(path)
    (entry,) = memory.entries()
    assert entry.kind == "code"
    assert "# of the harbour" in entry.text
    assert "iVBORw0KGgo" not in entry.text
    assert [one.reason for one in receipt.skipped] == ["2 outputs of cells, pictures among them"]
