"""Random histories of two projects in one memory, killed anywhere: erased stays erased, and apart.

Every word is made of random letters. So a piece of a word that is where it must not be is a fault,
whatever brought it there.
"""

from __future__ import annotations

import json
import os
import random
import re
import select
import string
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.agents.conftest import repository
from tests.faults.conftest import Note
from tests.faults.engines import Files, Server
from tests.faults.processes import ROOT
from tests.faults.test_erasure import shared
from tests.ingest.clients import claude_line
from tests.postgres_server import CAN_COPY
from tests.programs import Program

WORD = re.compile("[a-z]{20}")
STEPS = 10
KILLED = 0.25
"""The share of steps that are killed, after one of these times."""
DELAYS_S = (0.0, 0.002, 0.005, 0.01, 0.02, 0.05)


def words(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in WORD.findall(text)}


@dataclass
class Project:
    """A project, its notes, and the texts of its space."""

    number: int
    folder: Path
    name: str
    notes: Path
    live: set[str] = field(default_factory=set)
    coming: set[str] = field(default_factory=set)
    """Texts that were not acknowledged: they may be there, or come."""
    doomed: set[str] = field(default_factory=set)
    """Texts whose erasing was not acknowledged."""
    noted: set[str] = field(default_factory=set)
    """Texts of notes, also of those that are gone."""
    edited: set[str] = field(default_factory=set)
    """Texts that another one took the place of in a note: they are not forgotten, so that an
    earlier export brings them."""
    seen: list[tuple[str, str, str]] = field(default_factory=list)
    """Id, source and text of each entry at the last look."""
    transcripts: list[Path] = field(default_factory=list)
    removed: list[Path] = field(default_factory=list)
    """Transcripts that began before the space was removed."""
    unread: set[str] = field(default_factory=set)
    """Texts of these that hooks may have been told of."""
    events: list[dict[str, str]] = field(default_factory=list)
    exports: list[list[str]] = field(default_factory=list)


class History:
    """Random steps of two projects, and what must hold after each of them."""

    def __init__(self, engine: Files | Server, root: Path, rng: random.Random) -> None:
        self._engine, self._root, self._rng = engine, root, rng
        self._has_hooks = "://" not in engine.url  # agents use memories in files
        self._process: subprocess.Popen[str] | None = None
        self._made: set[str] = set()
        self._unstored: set[str] = set()
        """Words of transactions that PostgreSQL took back: their rows are for its autovacuum."""
        self._sent: set[str] = set()
        """Texts that agents have sent since hooks took all in."""
        self.counts: Counter[str] = Counter()
        self._environment = os.environ | {"PYTHONPATH": str(ROOT), "TREERING_MEMORY": engine.url}
        for variable, name in (("XDG_DATA_HOME", "data"), ("TMPDIR", "temporary")):
            (root / name).mkdir()
            self._environment[variable] = str(root / name)
        self._projects = [self._project(number) for number in range(2)]

    def _project(self, number: int) -> Project:
        name, notes = self._word(), self._root / f"notes {number}"
        notes.mkdir()
        folder = repository(self._root / f"project {number}", f"git@host:ana/{name}.git")
        return Project(number, folder, name, notes)

    def _word(self) -> str:
        word = "".join(self._rng.choices(string.ascii_lowercase, k=20))
        self._made.add(word)
        return word

    def _text(self) -> str:
        start = self._rng.choice(("", "I live in "))
        return start + " ".join(self._word() for _ in range(self._rng.choice((1, 3, 3, 40)))) + "."

    def live(self, steps: int) -> None:
        """Do steps; then remove both spaces, after which no word may be left."""
        usual = (self._add, self._say, self._fork, self._tell, self._sync, self._forget)
        rare = (self._export, self._restore, self._replace, self._settle, self._forget_space)
        for _ in range(steps):
            self._rng.choice((*usual, *usual, *rare))(self._rng.choice(self._projects))
            self._check()
        for project in self._projects:
            reply = self._forget_space(project, may_be_killed=False)
            if isinstance(self._engine, Server) and reply and "error" in reply:
                # No space is there, but an add that was killed may have written its name.
                self._unstored.add(project.name)
        self.stop()
        self._ensure_erased(self._unstored)
        self.counts["steps"] += steps

    # ------------------------------------------------------------------ steps

    def _add(self, project: Project) -> None:
        texts = [self._text() for _ in range(self._rng.choice((1, 1, 4, 30)))]
        turns = [{"role": "user", "name": "Ana", "content": text} for text in texts]
        source = f"talk {self._word()}"
        project.coming.add(source)
        if self._perform(project, "add", texts, content=turns, source=source):
            project.coming.discard(source)

    def _say(self, project: Project, transcript: Path | None = None) -> None:
        """Say something in a session with an agent."""
        if transcript is None and self._rng.random() < 0.7:
            transcript = self._any([*project.transcripts, *project.removed])
        transcript = transcript or self._new_transcript(project)
        with transcript.open("a") as stream:
            for text in [self._text() for _ in range(self._rng.randrange(1, 4))]:
                fields = {"uuid": str(self._rng.getrandbits(60)), "sessionId": transcript.stem}
                stream.write(json.dumps(claude_line(1, "user", text, **fields)) + "\n")
                project.coming.add(text)
        lines = map(json.loads, transcript.read_text().splitlines())
        new = {line["message"]["content"] for line in lines} & project.coming
        if self._has_hooks:
            self._hook(project, new, "claude-code", {"transcript_path": str(transcript)})
        else:
            self._perform(project, "import_", new, path=str(transcript))

    def _fork(self, project: Project) -> None:
        """Go on in a copy of a session, or in its file under another name."""
        if old := self._any(project.transcripts):
            new = self._new_transcript(project)
            new.write_text(old.read_text())
            if self._rng.random() < 0.5:
                old.unlink()
                project.transcripts.remove(old)
            self._say(project, new)

    def _new_transcript(self, project: Project) -> Path:
        project.transcripts.append(self._root / f"{self._rng.getrandbits(60)}.jsonl")
        return project.transcripts[-1]

    def _tell(self, project: Project) -> None:
        """Send a hook the event of a message, or one that was sent before."""
        if self._has_hooks:
            if not project.events or self._rng.random() < 0.7:
                event = {"timestamp": str(self._rng.random()), "prompt": self._text()}
                project.events.append(event)
                project.coming.add(event["prompt"])
            event = self._any(project.events)
            self._hook(project, {event["prompt"]} & project.coming, "gemini", event)

    def _hook(self, project: Project, new: set[str], client: str, event: dict[str, str]) -> None:
        waits = self._rng.random() < 0.2
        self._sent.update(event.values())
        new = set() if waits else new
        done = self._perform(project, "hook", new, client=client, payload=event, waits=waits)
        if done and not waits:
            self._sent.clear()

    def _sync(self, project: Project) -> None:
        """Remove, change and write notes of a folder."""
        notes = sorted(project.notes.iterdir())
        for note in self._rng.sample(notes, min(len(notes), self._rng.randrange(3))):
            note.unlink()
        kept = sorted(project.notes.iterdir())[:1]
        project.edited |= {note.read_text() for note in kept}
        for note in (*kept, *(project.notes / f"{self._word()}.md" for _ in range(2))):
            note.write_text(self._text())
        there = {note.read_text() for note in project.notes.iterdir()}
        project.noted |= there
        old = (project.live | project.doomed) & project.noted - there
        new = there - project.live
        self._perform(project, "sync", new, old, folder=str(project.notes))

    def _replace(self, project: Project) -> None:
        if entry := self._any([row for row in project.seen if row[2] not in project.noted]):
            text = self._text()
            self._perform(project, "replace", [text], [entry[2]], entry=entry[0], text=text)

    def _forget(self, project: Project) -> None:
        """Forget an entry or all of its source, and remove their notes."""
        if entry := self._any(project.seen):
            of_source = [row for row in project.seen if row[1] == entry[1]]
            rows = self._rng.choice(([entry], of_source))
            texts = {row[2] for row in rows}
            for note in project.notes.iterdir():
                if note.read_text() in texts:
                    note.unlink()
            self._perform(project, "forget", old=texts, ids=[row[0] for row in rows])

    def _forget_space(
        self, project: Project, *, may_be_killed: bool = True
    ) -> dict[str, Any] | None:
        """Remove a space, and all that was read into it but some sessions that go on."""
        for note in project.notes.iterdir():
            note.unlink()
        project.events.clear()
        project.exports.clear()
        go_on = self._has_hooks and may_be_killed
        project.removed = [*project.removed, *project.transcripts] if go_on else []
        project.transcripts.clear()
        old = project.live | project.doomed
        reply = self._perform(project, "forget_space", old=old, may_be_killed=may_be_killed)
        if reply:
            said = "".join(path.read_text() for path in project.removed)
            project.unread = {text for text in project.coming | project.unread if text in said}
            project.coming.clear()
        return reply

    def _export(self, project: Project) -> None:
        if (reply := self._perform(project, "export")) and "done" in reply:
            project.exports.append(reply["done"])

    def _restore(self, project: Project) -> None:
        if lines := self._any(project.exports):
            left_out = words(project.edited)
            kept = [line for line in lines if left_out.isdisjoint(words([line]))]
            self._perform(project, "restore", lines=kept)

    def _settle(self, project: Project) -> None:
        self._perform(project, "settle")

    def _any(self, items: list[Any]) -> Any:
        return self._rng.choice(items) if items else None

    # ------------------------------------------------------------------ the process

    def _perform(
        self,
        project: Project,
        do: str,
        new: Iterable[str] = (),
        old: Iterable[str] = (),
        *,
        may_be_killed: bool = True,
        **arguments: Any,
    ) -> dict[str, Any] | None:
        """Do a step that brings and erases texts; None if it was killed before it replied."""
        project.coming.update(new)
        project.doomed.update(old)
        project.live.difference_update(old)
        kills = may_be_killed and self._rng.random() < KILLED
        reply = self._send({"do": do, "project": project.number, **arguments}, kills=kills)
        if reply is not None:
            assert "done" in reply or not project.seen, reply
            self._sent.difference_update(old)
            project.live.update(new)
            project.coming.difference_update(new)
            project.doomed.difference_update(old)
        return reply

    def _send(self, step: dict[str, Any], *, kills: bool = False) -> dict[str, Any] | None:
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(step) + "\n")
        process.stdin.flush()
        if kills:
            select.select([process.stdout], [], [], self._rng.choice(DELAYS_S))
            process.kill()
        line = process.stdout.readline()
        if kills:
            self.counts["kills"] += 1
            self.stop()
            self._engine.end_work()
        is_whole = line.endswith("\n")
        assert is_whole or kills, (step, (self._root / "errors").read_text())
        reply: dict[str, Any] | None = json.loads(line) if is_whole else None
        return reply

    def _start(self) -> subprocess.Popen[str]:
        folders = [str(project.folder) for project in self._projects]
        command = [sys.executable, "-m", "tests.faults.performer", self._engine.url, *folders]
        with (self._root / "errors").open("a") as errors:
            self._process = Program(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                cwd=ROOT,
                env=self._environment,
            )
        return self._process

    def stop(self) -> None:
        if self._process is not None:
            self._process.communicate()
            self._process = None

    # ------------------------------------------------------------------ what must hold

    def _check(self) -> None:
        """Each project gets its own texts and no erased one, and no byte is left of erased ones."""
        kept = [*self._sent]
        for project in self._projects:
            probe = self._rng.choice(sorted(self._made))
            reply = self._send({"do": "read", "project": project.number, "probe": probe})
            assert reply is not None
            assert "done" in reply, reply
            project.seen = [tuple(row) for row in reply["done"]["entries"]]
            texts = {text for _, _, text in project.seen}
            assert project.live <= texts
            assert texts <= project.live | project.coming | project.doomed | project.unread
            own = [project.name, *texts, *(source for _, source, _ in project.seen)]
            assert words(reply["done"]["found"]) <= words(own)
            project.doomed &= texts
            project.live |= texts - project.doomed
            project.coming -= texts
            waiting = [*project.coming, *(note.name for note in project.notes.iterdir())]
            kept += [*own, *waiting, *project.unread]
            if isinstance(self._engine, Server):
                self._unstored |= words(waiting) - words(own)
        self._ensure_erased(words(kept) | self._unstored)

    def _ensure_erased(self, kept: set[str]) -> None:
        folders = (self._root / "data", self._root / "temporary")
        files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
        data = b"".join(path.read_bytes() for path in files) + self._engine.stored()
        assert not (left := shared(self._made - kept, data)), sorted(left)[:5]
        self.counts["bytes"] += len(data)


@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("kind", [Files, Server])
def test_nothing_erased_returns_and_nothing_crosses(
    tmp_path: Path,
    rng: random.Random,
    rounds: Callable[[int], int],
    note: Note,
    kind: type[Files | Server],
) -> None:
    if kind is Server and not CAN_COPY:
        pytest.skip("no databases can be made on a server that is named")
    counts: Counter[str] = Counter()
    for number in range(count := rounds(1)):
        (folder := tmp_path / str(number) / "memory").mkdir(parents=True)
        with kind(folder) as engine:
            history = History(engine, folder.parent, rng)
            try:
                history.live(STEPS)
            finally:
                history.stop()
        counts += history.counts
    note(f"histories of two projects, {kind.__name__.lower()}", histories=count, **counts, left=0)
