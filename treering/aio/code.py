"""AsyncCode: CodeMemory for asyncio. Written by tools/generate_async.py."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from treering.aio.context_memory import AsyncContextMemory
from treering.llm.tokens import estimate_tokens
from treering.records import Forgotten, Progress
from treering.search.own import Mode
from treering.views.code.guard.check import CheckReport
from treering.views.code.index.blocks import CodeBlock
from treering.views.code.index.code_index import ALPHA, CodeHit
from treering.views.code.index.indexing import CodeReceipt
from treering.views.code.index.names import About
from treering.views.code.index.neighbours import Neighbourhood
from treering.views.code.memory import CodeMemory
from treering.views.code.parse.cuts import Unit
from treering.views.code.rounds.history import DEPTH
from treering.views.code.rounds.recorded import RecordedBlock
from treering.views.code.rounds.rounds import Files
from treering.views.code.rounds.session import SessionBlock
from treering.views.code.write.choices import ContextName, DetectorName, JudgeName
from treering.views.code.write.context_memory import Judge
from treering.views.code.write.generate import CONTEXT_BUDGET, GeneratedCode


class AsyncCode:
    """The methods of ``CodeMemory``, each run in a worker thread, as is getting at the view."""

    def __init__(self, view: Callable[[], CodeMemory]) -> None:
        self._view = view

    async def index(
        self,
        root: str | Path,
        *,
        unit: Unit | None = None,
        embed: bool | None = None,
        progress: Progress | None = None,
    ) -> CodeReceipt:
        """Take in the working tree at ``root``; only files whose content has changed are read anew.

        ``unit`` is how files are cut (default ``blocks``, or as ``Memory.configure`` set it) and
        ``embed`` whether fragments are embedded for the modes ``hybrid`` and ``dense`` (default:
        no); both stay as they were on a later call that leaves them out. Changing them rebuilds.

        Raises UnknownName, MissingExtra, EmbeddingError, JournalError; then nothing was changed.
        """
        return await asyncio.to_thread(
            lambda: self._view().index(root, unit=unit, embed=embed, progress=progress)
        )

    async def search(
        self,
        query: str,
        *,
        k: int = 10,
        root: str | Path | None = None,
        mode: Mode | None = None,
        alpha: float = ALPHA,
        near: str | None = None,
        paths: Sequence[str] | None = None,
    ) -> list[CodeHit]:
        """The k fragments of code that matter to an instruction, best first (FragRel eq. 10).

        ``root`` may be left out where one repository is indexed. ``mode`` is ``hybrid`` where the
        repository is embedded, else ``lexical``. ``alpha`` weighs the code relation, 0 for none.
        ``near`` is where the code will go, ``PATH`` or ``PATH:LINE`` from the root.

        Tests, and files that are not code, count half (``why`` says how much that takes off)
        unless the query asks for them: for a test, for the documentation, for a file by its name.
        ``paths`` finds only in files that meet one of some patterns, as in ``.gitignore``:
        ``["src/"]``, ``["*.py", "!tests/"]``.

        Raises EmptyText, InputError, UnknownName, EmbeddingError.
        """
        return await asyncio.to_thread(
            lambda: self._view().search(
                query, k=k, root=root, mode=mode, alpha=alpha, near=near, paths=paths
            )
        )

    async def map(
        self,
        *,
        budget: int = 1000,
        root: str | Path | None = None,
        focus: Mapping[str, float] | None = None,
        count_tokens: Callable[[str], int] = estimate_tokens,
    ) -> str:
        """The most central definitions of a repository within ``budget`` tokens.

        ``focus`` gives files a share of the attention.
        """
        return await asyncio.to_thread(
            lambda: self._view().map(
                budget=budget, root=root, focus=focus, count_tokens=count_tokens
            )
        )

    async def neighbours(
        self, path: str, definition: str, *, root: str | Path | None = None
    ) -> Neighbourhood:
        """A definition, by file and qualified name: who calls it, whom it calls, its members.

        Raises UnknownName.
        """
        return await asyncio.to_thread(lambda: self._view().neighbours(path, definition, root=root))

    async def blocks(
        self, query: str, k: int = 5, *, root: str | Path | None = None
    ) -> list[CodeBlock]:
        """The definitions that hold the best fragments for a query, best first (CodeMEM eq. 1)."""
        return await asyncio.to_thread(lambda: self._view().blocks(query, k, root=root))

    async def context_memory(
        self, judge: Judge | None = None, *, root: str | Path | None = None
    ) -> AsyncContextMemory:
        """A context memory for one conversation (CodeMEM 3.3).

        The default judge needs no model: it asks whether the keys cover the instruction's names.
        """
        view = await asyncio.to_thread(lambda: self._view().context_memory(judge, root=root))
        return AsyncContextMemory(lambda: view)

    async def record(
        self,
        instruction: str,
        *,
        root: str | Path = ".",
        before: Files | None = None,
        after: Files | None = None,
        diff: str | None = None,
        note: str = "",
        outcome: str = "",
    ) -> tuple[SessionBlock, ...]:
        """Remember a round of work: what was asked for, and every definition that it changed.

        Without ``after`` the round is what stands in the git working tree at ``root`` and is
        neither committed nor recorded yet. ``diff``, a unified one, is what the files at ``root``
        have just been changed by, where more has been changed. ``after`` gives files as they are
        now instead, as texts by path from the root, and ``before`` as they were (default: as last
        recorded); a file that is in ``before`` alone was deleted. ``outcome`` is ``accepted``,
        ``rejected`` or in other words; ``note`` says what became of it, and may be written later,
        with ``note()``.

        Each block is an entry of the journal: durable, found by ``search``, exported, forgotten.
        Raises InputError, UnknownName, JournalError; then nothing was recorded.
        """
        return await asyncio.to_thread(
            lambda: self._view().record(
                instruction,
                root=root,
                before=before,
                after=after,
                diff=diff,
                note=note,
                outcome=outcome,
            )
        )

    async def generate(
        self,
        instruction: str,
        *,
        definition: str,
        root: str | Path | None = None,
        judge: JudgeName | None = None,
        detector: DetectorName | None = None,
        context: ContextName | None = None,
        budget: int = CONTEXT_BUDGET,
    ) -> GeneratedCode:
        """One round with the language model on a definition (CodeMEM, figure 2).

        The model sees the code that matters, as the context memory of this definition holds it,
        and the last round on it with those of like instruction; what it writes is compared with
        all earlier rounds and, if it is likely to undo one, written again. The result is recorded.
        No file is changed and nothing is run.

        ``definition`` is one that is known, or ``PATH::NAME`` for a new one. ``root`` is the
        repository, where several are indexed; with none indexed there is no context. ``budget`` is
        the tokens of code shown.

        ``judge`` decides when more code is needed: by ``names``, which costs nothing, or the
        ``llm``. ``detector`` tells what a draft undoes: ours, ``scored``, the paper's rule,
        ``printed``, ``both`` or ``none``. ``context`` is ``selected``, or without parts of the
        context memory: ``added`` drops nothing, ``static`` is what the first round retrieved.
        What is left out is as ``Memory.configure`` set it, else the first of each.

        Raises InputError, UnknownName, LLMError.
        """
        return await asyncio.to_thread(
            lambda: self._view().generate(
                instruction,
                definition=definition,
                root=root,
                judge=judge,
                detector=detector,
                context=context,
                budget=budget,
            )
        )

    async def note(self, definition: str, note: str, *, outcome: str = "") -> SessionBlock:
        """Write the note of a definition's last block, now that its reception is known.

        ``definition`` is ``PATH::NAME``, ``Class.method`` or a last part that is the only one.
        """
        return await asyncio.to_thread(lambda: self._view().note(definition, note, outcome=outcome))

    async def log(
        self, definition: str, *, root: str | Path | None = None
    ) -> tuple[SessionBlock, ...]:
        """The story of a definition, oldest first: what was asked for, changed and noted.

        With the ``root`` of a git repository its commits are part of the story; a commit is a
        block whose instruction is its message. One that took in a recorded round is told with it,
        as its ``commit`` and ``message``. Raises UnknownName.
        """
        return await asyncio.to_thread(lambda: self._view().log(definition, root=root))

    async def rounds(self) -> dict[str, list[RecordedBlock]]:
        """The recorded rounds by definition, oldest first, with what ties each to the one before.

        Definitions go by what they are called now, as ``PATH::NAME``; where two repositories have
        one of that name, as ``PATH::NAME in REPOSITORY``.
        """
        return await asyncio.to_thread(lambda: self._view().rounds())

    async def check(
        self,
        *,
        root: str | Path = ".",
        staged: bool = False,
        commits: str | None = None,
        message: str = "",
        depth: int = DEPTH,
    ) -> CheckReport:
        """What a change would undo of the recorded rounds and of the last ``depth`` commits.

        The change is the git working tree at ``root`` against its last commit, or what is
        ``staged``, or that of a range of ``commits`` such as ``main..HEAD`` as a whole. What
        ``message``, or one in the range, cites by its commit or id is undone on purpose, and so is
        a round whose outcome was ``rejected``. Nothing is run and nothing is written.

        Raises UnknownName, InputError.
        """
        return await asyncio.to_thread(
            lambda: self._view().check(
                root=root, staged=staged, commits=commits, message=message, depth=depth
            )
        )

    async def about(self, question: str, *, k: int = 5) -> About:
        """What was said, done and what stands in the code, on a question such as "why does parse()
        retry twice?": up to ``k`` of each.

        Raises EmptyText, InputError.
        """
        return await asyncio.to_thread(lambda: self._view().about(question, k=k))

    async def repositories(self) -> list[str]:
        """The roots of the repositories that are indexed."""
        return await asyncio.to_thread(lambda: self._view().repositories())

    async def forget_rounds(self, definition: str) -> Forgotten:
        """Erase the recorded rounds of a definition, also from the file's bytes.

        A single round is forgotten as any entry, with ``memory.forget(id)``. Raises UnknownName.
        """
        return await asyncio.to_thread(lambda: self._view().forget_rounds(definition))

    async def forget(self, root: str | Path) -> int:
        """Erase a repository's index, also from the file's bytes; return how many files it had.

        Recorded rounds stay: see ``forget_rounds``.
        """
        return await asyncio.to_thread(lambda: self._view().forget(root))
