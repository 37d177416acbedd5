"""``memory.code``: repositories indexed and searched, rounds of work on them remembered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from treering.embed.contract import Embedder, unit_vectors
from treering.errors import InputError
from treering.journal.space import Space
from treering.llm.account import ModelAccount
from treering.llm.tokens import estimate_tokens
from treering.records import Forgotten, Hit, Mode, Progress
from treering.views.choices import ContextName, DetectorName, JudgeName, Unit
from treering.views.code.guard.check import CheckReport, check
from treering.views.code.index.blocks import CodeBlock, best_blocks
from treering.views.code.index.code_index import ALPHA, CodeHit
from treering.views.code.index.map import Neighbourhood, neighbourhood, repository_map
from treering.views.code.index.repositories import CodeReceipt, Repositories
from treering.views.code.rounds import recorded
from treering.views.code.rounds.git import Git
from treering.views.code.rounds.history import DEPTH, Checkout
from treering.views.code.rounds.recorded import RecordedBlock
from treering.views.code.rounds.rounds import Build, Files, Rounds, story_of
from treering.views.code.rounds.session import SessionBlock
from treering.views.code.write.generate import CONTEXT_BUDGET, Coder, GeneratedCode
from treering.views.erase import Eraser
from treering.views.settings import settings_of

Recall = Callable[[str, int], Sequence[Hit]]
"""The best fragments of the space for a question."""

_TALK_LOOKED_AT = 3
"""Hits looked at for each piece of talk wanted: some are recorded rounds, which are listed
separately."""


@dataclass(frozen=True, slots=True)
class About:
    """The answer to a question about code: talk, rounds of work, and fragments of code, each best
    first."""

    question: str
    talk: tuple[Hit, ...]
    rounds: tuple[SessionBlock, ...]
    code: tuple[CodeHit, ...]


class CodeMemory:
    """The code of a space. All methods may be called from any thread."""

    def __init__(
        self,
        space: Space,
        embedder: Embedder,
        build: Build,
        eraser: Eraser,
        recall: Recall,
        account: ModelAccount,
        code_roots: Sequence[Path] | None = None,
    ) -> None:
        self._space = space
        self._repositories = Repositories(space, embedder, code_roots)
        self._eraser = eraser
        self._rounds = Rounds(space, build, eraser)
        self._recall = recall
        self._coder = Coder(self._rounds, account, self._similarity)

    def index(
        self,
        root: str | Path,
        *,
        unit: Unit | None = None,
        embed: bool | None = None,
        progress: Progress | None = None,
    ) -> CodeReceipt:
        """Take in the working tree at ``root``; only changed files are parsed.

        Whatever searches it later first does this again, so that another branch is noticed.

        ``unit`` is how files are cut (default ``blocks``, or as ``Memory.configure`` set it) and
        ``embed`` whether fragments are embedded for the modes ``hybrid`` and ``dense`` (default:
        no); both stay as they were on a later call that leaves them out. Changing them rebuilds.

        Raises UnknownName, MissingExtra, EmbeddingError, JournalError; then nothing was changed.
        """
        return self._repositories.index(root, unit, embed, progress)

    def search(
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
        unless the query asks for them: for a test, for the documentation, for a file by its name;
        or unless ``Memory.configure(aside=False)`` was called.
        ``paths`` finds only in files that meet one of some patterns, as in ``.gitignore``:
        ``["src/"]``, ``["*.py", "!tests/"]``.

        Where only words count, and no fragment says any of the query's, nothing is found.

        Raises EmptyText, InputError, UnknownName, EmbeddingError.
        """
        repository, index = self._repositories.open_index(root)
        model = repository.settings.model
        mode = mode or ("hybrid" if model else "lexical")
        vector = None
        if mode != "lexical":
            name = self._repositories.embedder.name
            if model != name:
                raise InputError(
                    f"{repository.root} is embedded with {model or 'no model'}, not "
                    f"{name}; index it with embed=True, or search with mode='lexical'"
                )
            vector = unit_vectors(self._repositories.embedder, [query], query=True)[0]
        if mode == "lexical" and near is None and not index.says_any(query):
            return []  # without this, unrelated fragments would be returned
        return index.search(
            query,
            k=k,
            mode=mode,
            vector=vector,
            alpha=alpha,
            near=near,
            paths=paths,
            aside=settings_of(self._space).aside,
        )

    def map(
        self,
        *,
        budget: int = 1000,
        root: str | Path | None = None,
        count_tokens: Callable[[str], int] = estimate_tokens,
    ) -> str:
        """Return the most called definitions of a repository within ``budget`` tokens."""
        return repository_map(self._repositories.open_index(root)[1], budget, count_tokens)

    def neighbours(
        self, path: str, definition: str, *, root: str | Path | None = None
    ) -> Neighbourhood:
        """A definition, by file and qualified name, with its callers, callees and members.

        Raises UnknownName.
        """
        return neighbourhood(self._repositories.open_index(root)[1], path, definition)

    def blocks(self, query: str, k: int = 5, *, root: str | Path | None = None) -> list[CodeBlock]:
        """The definitions that hold the best fragments for a query, best first (CodeMEM eq. 1)."""
        index = self._repositories.open_index(root)[1]
        settings = settings_of(self._space)
        return best_blocks(index, query, k, settings.block_alpha, aside=settings.aside)

    def record(
        self,
        instruction: str,
        *,
        root: str | Path = ".",
        before: Files | None = None,
        after: Files | None = None,
        note: str = "",
        outcome: str = "",
    ) -> tuple[SessionBlock, ...]:
        """Remember a round of work: its instruction, and every definition that it changed.

        Without ``after`` the round is the change of the git working tree at ``root`` that is
        neither committed nor recorded. ``after`` gives files as they are now instead, as texts by
        path from the root, and ``before`` as they were (default: as last recorded); a file in
        ``before`` alone was deleted. ``outcome`` is ``accepted``, ``rejected`` or in other words;
        ``note`` says how the round was received, and may be written later, with ``note()``.

        Each block is an entry of the journal: durable, found by ``search``, exported, forgotten.
        Raises InputError, UnknownName, JournalError; then nothing was recorded.
        """
        if after is None and before is not None:
            raise InputError("before= needs after=: the files as they are now")
        checkout = Checkout() if after is not None else Checkout.from_git(Git.at(Path(root)))
        return self._rounds.record(instruction, note, outcome, checkout, before, after)

    def generate(
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
        repository, where several are indexed; with none indexed the context is empty. ``budget`` is
        the tokens of code shown.

        ``judge`` decides when more code is needed: by ``names``, which costs nothing, or the
        ``llm``. ``detector`` finds the rounds that a draft undoes: by the share that is left of
        each (``rules``), by the paper's (``printed``), or ``none``. ``context`` is ``selected``, or
        without parts of the context memory: ``added`` drops nothing, ``static`` is what the first
        round retrieved. An argument that is None is as ``Memory.configure`` set it, else the first
        of these.

        Raises InputError, UnknownName, LLMError.
        """
        default = settings_of(self._space)
        settings = replace(
            default,
            judge=judge or default.judge,
            detector=detector or default.detector,
            context=context or default.context,
        )
        index, checkout = None, Checkout()
        if root is not None or self.repositories():
            repository, index = self._repositories.open_index(root)
            checkout = Checkout.at(Path(repository.root))
        return self._coder.write(instruction, definition, settings, index, checkout, budget)

    def note(self, definition: str, note: str, *, outcome: str = "") -> SessionBlock:
        """Write the note of a definition's last block, now that its reception is known.

        A note or outcome that is empty stays as it was; one of them must be given.
        ``definition`` is ``PATH::NAME``, ``Class.method`` or a last part that is the only one.
        """
        return self._rounds.note(definition, note, outcome)

    def log(self, definition: str, *, root: str | Path | None = None) -> tuple[SessionBlock, ...]:
        """The story of a definition, oldest first: instructions, changes and notes.

        With the ``root`` of a git repository its commits are part of the story; a commit is a
        block whose instruction is its message. One that took in a recorded round is told with it,
        as its ``commit`` and ``message``. Raises UnknownName.
        """
        return story_of(definition, self._rounds.every(), None if root is None else Path(root))

    def rounds(self) -> dict[str, list[RecordedBlock]]:
        """The recorded rounds by definition, oldest first.

        Definitions go by what they are called now, as ``PATH::NAME``; where two repositories have
        one of that name, as ``PATH::NAME in REPOSITORY``.
        """
        return recorded.sequences(self._rounds.every())

    def check(
        self,
        *,
        root: str | Path = ".",
        staged: bool = False,
        commits: str | None = None,
        message: str = "",
        depth: int = DEPTH,
        progress: Progress | None = None,
    ) -> CheckReport:
        """Report which recorded rounds and last ``depth`` commits a change would undo.

        The change is the git working tree at ``root`` against its last commit, or what is
        ``staged``, or that of a range of ``commits`` such as ``main..HEAD`` as a whole. What
        ``message``, or one in the range, cites by its commit or id is undone on purpose, and so is
        a round whose outcome was ``rejected``, with the commit that made the same change. A round
        is cited by its whole id. Nothing is run and nothing is written.

        Raises UnknownName, InputError.
        """
        return check(
            Path(root),
            self._rounds.every(),
            staged=staged,
            commits=commits,
            message=message,
            depth=depth,
            progress=progress,
        )

    def about(self, question: str, *, k: int = 5) -> About:
        """Find talk, rounds and code for a question such as "why does parse()
        retry twice?": up to ``k`` of each.

        Raises EmptyText, InputError.
        """
        hits = self._recall(question, _TALK_LOOKED_AT * k)
        sequences = map(recorded.sequence, self.rounds().values())
        rounds = {block.id: block for sequence in sequences for block in sequence if block.id}
        recalled = (rounds[hit.entry_id] for hit in hits if hit.entry_id in rounds)
        code = [  # by words: repositories may be embedded with different models, or not at all
            hit
            for root in self.repositories()
            for hit in self.search(question, k=k, root=root, mode="lexical")
        ]
        return About(
            question=question,
            talk=tuple(hit for hit in hits if hit.entry_id not in rounds)[:k],
            rounds=tuple(dict.fromkeys(recalled))[:k],
            code=tuple(sorted(code, key=lambda hit: -hit.score)[:k]),
        )

    def _similarity(self, first: str, other: str) -> float:
        """The cosine of two instructions."""
        if first == other:
            return 1.0
        vectors = unit_vectors(self._repositories.embedder, [first, other])
        return float(vectors[0] @ vectors[1])

    def repositories(self) -> list[str]:
        """The roots of the repositories that are indexed."""
        return self._repositories.roots()

    def forget_rounds(self, definition: str) -> Forgotten:
        """Erase the recorded rounds of a definition, also from the file's bytes.

        A single round is forgotten as any entry, with ``memory.forget(id)``. Raises UnknownName.
        """
        return self._rounds.forget(definition)

    def forget(self, root: str | Path) -> int:
        """Erase a repository's index, also from the file's bytes; return how many files it had.

        Recorded rounds stay: see ``forget_rounds``.
        """
        return self._repositories.drop(root, self._eraser)

    def _use(self, embedder: Embedder) -> None:
        """Embed with another model from now on."""
        self._repositories.use(embedder)
