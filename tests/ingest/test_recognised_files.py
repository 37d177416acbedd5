"""Files of a folder that are more than a text: exports, notebooks, front matter."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from zipfile import ZipFile

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
from tests.raised import raises
from treering import Memory
from treering.errors import InputError, TextEncodingError
from treering.ingest.transcripts.contract import format_of


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
    with ZipFile(folder / "export.zip", "w") as archive:
        archive.writestr("conversations.json", "[]")
    (folder / "diary.txt").write_text("2026-01-05, 09:15 - woke up\nand went on\n", "utf-8")
    receipt = memory.add(folder)
    assert receipt.added == 1  # the diary
    reasons = {Path(one.path).relative_to(folder).as_posix(): one.reason for one in receipt.skipped}
    assert set(reasons) == {
        *("slack", "chatgpt/conversations.json", "claude/conversations.json", "session.jsonl"),
        *("box.mbox", "lease.eml", "WhatsApp Chat with Ben.txt", "export.zip"),
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
        ("[13/08/2023, 09:15:32] Ana: x", "Ana", "x", "2023-08-13T09:15:32"),
        ("8/13/23, 9:15\u202fPM - Ana: x", "Ana", "x", "2023-08-13T21:15:00"),
        ("13.08.23, 09:15 - Ana: x", "Ana", "x", "2023-08-13T09:15:00"),
        ("2023-08-13, 12:15 a.m. - Ana: x", "Ana", "x", "2023-08-13T00:15:00"),
        ("2023/8/13 晚上9:15 - 小明: 你好", "小明", "你好", "2023-08-13T21:15:00"),
        ("2023/08/13, 午後9:15 - 太郎: どうも", "太郎", "どうも", "2023-08-13T21:15:00"),
        ("13/8/23, 9:15\u202fp.\u00a0m. - Ana: Hola", "Ana", "Hola", "2023-08-13T21:15:00"),
        ("13/08/2023 às 21:15 - Rui: Oi", "Rui", "Oi", "2023-08-13T21:15:00"),
        ("13.8.2023 klo 21.15 - Ben: Moi", "Ben", "Moi", "2023-08-13T21:15:00"),
        ("8/13/23, 9:15 PM - \u2068Ben\u2069: Hi", "Ben", "Hi", "2023-08-13T21:15:00"),
        ("13/8/2566 21:15 - สมชาย: สวัสดี", "สมชาย", "สวัสดี", None),  # the Buddhist year
    ],
)
def test_whatsapp_is_read_in_the_customs_of_many_phones(
    memory: Memory, tmp_path: Path, line: str, speaker: str, text: str, at: str | None
) -> None:
    path = tmp_path / "chat.txt"
    path.write_text(f"\u200f{line}\n", "utf-8")
    assert memory.import_(path).added == 1
    (entry,) = memory.entries()
    assert (entry.speaker, entry.text) == (speaker, text)
    assert entry.at == (datetime.fromisoformat(at).replace(tzinfo=UTC) if at else None)


@pytest.mark.parametrize(
    ("lines", "months"),
    [
        (["5/3/26", "5/13/26"], [5, 5]),  # a number over twelve decides
        (["5/3/26", "6/1/26"], [5, 6]),  # the order of the messages
        (["5/3/26", "6/3/26"], [3, 3]),  # the custom of most countries
    ],
)
def test_the_order_of_day_and_month_follows_from_the_whole_chat(
    memory: Memory, tmp_path: Path, lines: list[str], months: list[int]
) -> None:
    path = tmp_path / "chat.txt"
    path.write_text("".join(f"{line}, 10:00 - Ana: Hello {line}\n" for line in lines), "utf-8")
    memory.import_(path)
    assert [entry.at and entry.at.month for entry in memory.entries()] == months


@pytest.mark.parametrize("form", ["file", "folder", "archive"])
def test_a_chat_that_all_files_call_alike_has_the_name_of_its_folder(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    folder = tmp_path / "WhatsApp Chat - Ana"
    folder.mkdir()
    (folder / "_chat.txt").write_text("[13/08/2023, 09:15:32] Ana: x\n", "utf-8")
    with ZipFile(folder / "WhatsApp Chat - Ana.zip", "w") as archive:
        archive.write(folder / "_chat.txt", "_chat.txt")
    monkeypatch.chdir(folder)
    names = {"file": "_chat.txt", "folder": ".", "archive": "WhatsApp Chat - Ana.zip"}
    memory.import_(Path(names[form]))
    (entry,) = memory.entries()
    assert entry.source == "whatsapp/Ana"


def test_a_mark_of_the_app_on_android_is_no_part_of_a_message(
    memory: Memory, tmp_path: Path
) -> None:
    path = tmp_path / "chat.txt"
    said = ["Tea at 5? <This message was edited>", "I am <3 years"]
    path.write_text("".join(f"13/08/2023, 09:15 - Ana: {text}\n" for text in said), "utf-8")
    memory.import_(path)
    assert [entry.text for entry in memory.entries()] == ["Tea at 5?", "I am <3 years"]


def test_words_of_the_app_on_an_iphone_are_no_messages(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "chat.txt"
    path.write_text(
        "[13.08.23, 21:15:30] Ben: \u200eNachrichten sind Ende-zu-Ende-verschlüsselt.\r\n"
        "[13.08.23, 21:15:31] Ben: Bis\r\nmorgen! \u200e<Diese Nachricht wurde bearbeitet>\r\n"
        "\u200e[13.08.23, 21:16:00] Ben: \u200eBild weggelassen\r\n"
        "\u200e[13.08.23, 21:17:00] ~\u202fAna: Im Anhang \u200e<Anhang: 4-PHOTO.jpg>\r\n",
        "utf-8",
    )
    receipt = memory.import_(path)
    assert [entry.text for entry in memory.entries()] == ["Bis\nmorgen!", "Im Anhang"]
    assert sum(receipt.omitted.values()) == 2


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


@pytest.mark.parametrize(
    "front",
    [
        '---\ntitle: "The boiler"\ntags: [house, heating]\nauthors:\n  - Ana\n  - Ben\n'
        "date: 2026-03-12\nempty:\n---",
        '+++\ntags = ["house", "heating"]\nauthors = ["Ana", "Ben"]\nsize = 3\n'
        "date = 2026-03-12\n+++",
    ],
)
def test_front_matter_becomes_metadata(memory: Memory, tmp_path: Path, front: str) -> None:
    note = tmp_path / "note.md"
    note.write_text(f"{front}\nServiced by Kowalski.\n", "utf-8")
    memory.add(note, metadata={"title": "Given"})
    (entry,) = memory.entries()
    assert entry.metadata["title"] == "Given"
    assert entry.metadata["tags"] == ["house", "heating"]
    assert entry.metadata["authors"] == ["Ana", "Ben"]
    assert "empty" not in entry.metadata
    assert entry.metadata.get("size", 3) == 3  # a number of TOML stays one
    assert entry.at == datetime(2026, 3, 12, tzinfo=UTC)
    assert memory.search("boiler service", k=1, metadata={"title": "Given"})


@pytest.mark.parametrize(
    "front",
    [
        "---\ntitle: [open\nb: 1\n---",
        "---\nsecret: &a x\ncopy: *a\n---",
        "---\n\tx: 1\n---",
        "+++\ntitle = open\n+++",
        "+++\nsize = nan\n+++",
        "---\nx: " + "[" * 3_000 + "\n---",
    ],
)
def test_front_matter_that_is_not_valid_is_told_once_and_kept_as_text(
    memory: Memory, tmp_path: Path, front: str
) -> None:
    note = tmp_path / "2026-03-12.md"
    note.write_text(f"{front}\nServiced.\n", "utf-8")
    [skipped] = memory.add(note).skipped
    assert skipped.path.endswith("md#front matter")
    assert "not valid" in skipped.reason
    assert "secret" not in skipped.reason
    (entry,) = memory.entries()
    assert (entry.text, entry.metadata) == (note.read_text("utf-8"), {})
    assert entry.at == datetime(2026, 3, 12, tzinfo=UTC)
    assert memory.add(note).skipped == ()


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


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16-le", "iso2022_jp"])
def test_a_file_that_is_not_utf_8_is_read_in_its_encoding(
    memory: Memory, tmp_path: Path, encoding: str
) -> None:
    text = "昨日パリで" if encoding == "iso2022_jp" else "Café à la crème, 3 €"
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "old.txt").write_bytes(f"---\ntitle: {text}\n---\n{text}\n".encode(encoding))
    (folder / "new.txt").write_text("Grüße aus Łódź\n", "utf-8")
    memory.add(folder, encoding=encoding)
    if encoding != "utf-16-le":  # which looks like a program, unless it is named itself
        assert sorted(entry.text for entry in memory.entries())[1] == "Grüße aus Łódź\n"
    memory.add(folder / "old.txt", encoding=encoding)
    old = next(entry for entry in memory.entries() if entry.source.endswith("old.txt"))
    assert old.text.endswith(f"\n{text}\n")
    assert old.metadata == {"title": text}
    assert memory.add(folder / "old.txt", encoding=encoding).unchanged == 1


def test_an_encoding_that_is_unknown_or_for_a_text_is_refused(
    memory: Memory, tmp_path: Path
) -> None:
    path = tmp_path / "old.txt"
    path.write_bytes("Café".encode("cp1252"))
    with raises(TextEncodingError):
        memory.add(path)
    for encoding in ("klingon", "base64", "a\0b", "undefined"):
        with raises(InputError, param="encoding"):
            memory.add(path, encoding=encoding)
    with raises(InputError, param="encoding"):
        memory.add("Café", encoding="cp1252")
    with raises(TextEncodingError):
        memory.add(path, encoding="ascii")


@pytest.mark.parametrize("name", ["chat.jsonl", "chat.json"])
def test_lone_surrogates_of_messages_in_a_file_are_replaced_and_logged(
    memory: Memory, tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    message = r'{"role": "user", "content": "a \uD83D cut \ud83d\ude00", "x\udc00": ["\ud800"]}'
    (tmp_path / name).write_text(message if name.endswith("l") else f"[{message}]")
    memory.add(tmp_path / name)
    [entry] = memory.entries()
    assert entry.text == "a \ufffd cut \U0001f600"
    assert entry.metadata == {"x\ufffd": ["\ufffd"]}
    assert "lone surrogates were replaced by U+FFFD" in caplog.text
