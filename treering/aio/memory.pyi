from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, Unpack

from treering.aio.proxy import AsyncChatStream
from treering.chat.answer import Answer
from treering.chat.policy import Policy
from treering.chat.prompt import ChatPrompt
from treering.embed.contract import Embedder
from treering.ingest.intake import Message
from treering.ingest.where import Where
from treering.llm.contract import LLM
from treering.llm.tokens import estimate_tokens
from treering.memory import DEFAULT_SPACE, Memory
from treering.records import (
    BRIEF_TOKENS,
    JSON,
    Context,
    Correction,
    Entry,
    Forgotten,
    Hit,
    Kind,
    Level,
    Mode,
    Page,
    Progress,
    Receipt,
    Stats,
    When,
    Withheld,
)
from treering.search.brief import Brief
from treering.search.context import CountTokens
from treering.search.relations.registry import Chosen, FitReport, Suggestion
from treering.search.rerank import Reranker
from treering.views.choices import (
    Choices,
    ContextName,
    DetectorName,
    JudgeName,
    SpaceSettings,
    Unit,
)
from treering.views.code.guard.check import CheckReport
from treering.views.code.index.blocks import CodeBlock
from treering.views.code.index.code_index import ALPHA, CodeHit
from treering.views.code.index.map import Neighbourhood
from treering.views.code.index.repositories import CodeReceipt
from treering.views.code.memory import About, CodeMemory
from treering.views.code.rounds.history import DEPTH
from treering.views.code.rounds.recorded import RecordedBlock
from treering.views.code.rounds.rounds import Files
from treering.views.code.rounds.session import SessionBlock
from treering.views.code.write.generate import CONTEXT_BUDGET, GeneratedCode
from treering.views.facts.view import Fact, FactView
from treering.views.memos.record import Choice, Memo
from treering.views.memos.view import Entries, Hits, Memos, MemoView
from treering.views.search_hooks import Alpha
from treering.views.tree.node import TreeNode, TreeStats
from treering.views.tree.shape import ROOT
from treering.views.tree.view import TreeView

class AsyncMemory:
    def __init__(self, memory: Memory) -> None: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
    @classmethod
    async def open(
        cls,
        url: str | Path,
        *,
        space: str = DEFAULT_SPACE,
        embedder: str | Embedder | None = None,
        llm: str | LLM | None = None,
        api_key: str | None = None,
        create: bool | None = None,
    ) -> Self: ...
    @property
    def code(self) -> AsyncCode: ...
    async def space(self, name: str, *, create: bool | None = None) -> AsyncMemory: ...
    async def close(self) -> None: ...
    async def add(
        self,
        content: str | Path | Message | Iterable[Message],
        *,
        source: str | None = None,
        kind: Kind | None = None,
        at: Any = None,
        speaker: str | None = None,
        session: str | None = None,
        metadata: Mapping[str, JSON] | None = None,
        mask: bool = False,
        expires: Any = None,
        pin: bool = False,
        encoding: str | None = None,
        sync: bool = False,
        force: bool = False,
        propose: str | None = None,
        progress: Progress | None = None,
    ) -> Receipt: ...
    async def replace(self, entry_id: str, text: str, *, by: str | None = None) -> Entry: ...
    async def pin(self, entry_id: str, pinned: bool = True) -> Entry: ...
    async def supersede(self, old: str, new: str | None, *, by: str | None = None) -> None: ...
    async def retract(
        self, entry_id: str, reason: str | None = None, *, by: str | None = None
    ) -> Correction: ...
    async def restore(self, entry_id: str, *, by: str | None = None) -> Entry: ...
    async def withheld(self, **where: Unpack[Where]) -> list[Withheld]: ...
    async def history(self, entry_id: str) -> list[Correction]: ...
    async def share(self, ids: Sequence[str], to: str) -> Receipt: ...
    async def settle(self, progress: Progress | None = None, *, upgrade: bool = False) -> Stats: ...
    async def rebuild(self, *views: str, progress: Progress | None = None) -> Stats: ...
    async def search(
        self,
        query: str,
        *,
        k: int | None = None,
        mode: Mode | None = None,
        relations: Chosen | None = None,
        alpha: Alpha | None = None,
        level: Level | None = None,
        min_confidence: float = 0.0,
        rerank: str | Reranker | None = None,
        all: bool = False,
        spaces: Sequence[str] | None = None,
        **where: Unpack[Where],
    ) -> list[Hit]: ...
    async def search_many(
        self,
        queries: Sequence[str],
        *,
        k: int | None = None,
        mode: Mode | None = None,
        relations: Chosen | None = None,
        alpha: Alpha | None = None,
        level: Level | None = None,
        min_confidence: float = 0.0,
        rerank: str | Reranker | None = None,
        all: bool = False,
        spaces: Sequence[str] | None = None,
        **where: Unpack[Where],
    ) -> list[list[Hit]]: ...
    async def context(
        self,
        query: str,
        *,
        budget: int | str | None = None,
        mode: Mode | None = None,
        relations: Chosen | None = None,
        alpha: Alpha | None = None,
        min_confidence: float = 0.0,
        count_tokens: CountTokens = estimate_tokens,
        spaces: Sequence[str] | None = None,
        **where: Unpack[Where],
    ) -> Context: ...
    async def brief(
        self, *, budget: int = BRIEF_TOKENS, count_tokens: CountTokens = estimate_tokens
    ) -> Brief: ...
    async def ask(
        self,
        question: str,
        *,
        budget: int | str | None = None,
        spaces: Sequence[str] | None = None,
        **where: Unpack[Where],
    ) -> Answer: ...
    async def chat(
        self,
        message: str,
        *,
        policy: str | Policy | None = None,
        source: str = "chat",
        budget: int | str | None = None,
        speaker: str | None = None,
        spaces: Sequence[str] | None = None,
    ) -> Answer: ...
    async def chat_stream(
        self,
        message: str,
        *,
        policy: str | Policy | None = None,
        source: str = "chat",
        budget: int | str | None = None,
        speaker: str | None = None,
        spaces: Sequence[str] | None = None,
    ) -> AsyncChatStream: ...
    async def chat_prompt(
        self,
        message: str,
        *,
        policy: str | Policy | None = None,
        source: str = "chat",
        budget: int | str | None = None,
        count_tokens: CountTokens = estimate_tokens,
        spaces: Sequence[str] | None = None,
    ) -> ChatPrompt: ...
    def entries(self, **where: Unpack[Where]) -> AsyncIterator[Entry]: ...
    async def page(
        self,
        cursor: str | None = None,
        *,
        limit: int = 100,
        newest: bool = False,
        **where: Unpack[Where],
    ) -> Page: ...
    async def get(self, entry_id: str) -> Entry: ...
    async def forget(
        self, *entry_ids: str, replies: bool = False, copies: bool = False, **where: Unpack[Where]
    ) -> Forgotten: ...
    async def forget_space(self, name: str) -> Forgotten: ...
    @property
    def memos(self) -> AsyncMemos: ...
    @property
    def tree(self) -> AsyncTree: ...
    @property
    def facts(self) -> AsyncFacts: ...
    async def configure(
        self, preset: str | None = None, **choices: Unpack[Choices]
    ) -> SpaceSettings: ...
    async def fit(self, *, progress: Progress | None = None) -> list[FitReport]: ...
    async def suggest_relations(self, *, progress: Progress | None = None) -> list[Suggestion]: ...
    async def reembed(
        self, embedder: str | Embedder, *, progress: Progress | None = None
    ) -> Stats: ...
    def export(self) -> AsyncIterator[str]: ...
    async def import_(
        self,
        lines: Iterable[str] | Path,
        *,
        since: Any = None,
        mask: bool = True,
        settings: bool = False,
        again_forgotten: bool = False,
        progress: Progress | None = None,
    ) -> Receipt: ...
    async def spaces(self) -> list[str]: ...
    async def stats(self) -> Stats: ...
    async def check(self, progress: Progress | None = None) -> list[str]: ...

class AsyncTree:
    def __init__(self, get: Callable[[], TreeView]) -> None: ...
    async def settle(self, progress: Progress | None = None, *, upgrade: bool = False) -> None: ...
    async def roots(self) -> list[TreeNode]: ...
    async def children(self, number: int) -> list[TreeNode]: ...
    async def node(self, number: int) -> TreeNode: ...
    async def path(self, number: int) -> list[TreeNode]: ...
    async def leaves(self, number: int) -> list[TreeNode]: ...
    async def find(self, entry_id: str) -> list[TreeNode]: ...
    async def nodes(self, root: int = ROOT) -> list[TreeNode]: ...
    async def stats(self) -> TreeStats: ...
    async def draw(self, root: int = ROOT) -> str: ...

class AsyncMemos:
    def __init__(self, get: Callable[[], MemoView]) -> None: ...
    async def list(self, *, topic: str | None = None, source: str | None = None) -> Memos: ...
    async def get(self, memo_id: str) -> Memo: ...
    async def lines(self, memo: Memo) -> Entries: ...
    async def recent(self, source: str) -> Entries: ...
    async def search(
        self, query: str, *, k: int = 10, mode: Mode = "hybrid", source: str | None = None
    ) -> Hits: ...
    async def choose(self, query: str, *, source: str | None = None) -> Choice: ...
    async def edit(
        self,
        memo_id: str,
        *,
        topic: str | None = None,
        summary: str | None = None,
        pinned: bool | None = None,
    ) -> Memo: ...
    async def delete(self, memo_id: str) -> None: ...
    async def settle(
        self, progress: Progress | None = None, *, source: str | None = None, upgrade: bool = False
    ) -> None: ...

class AsyncFacts:
    def __init__(self, get: Callable[[], FactView]) -> None: ...
    async def all(self, subject: str | None = None, as_of: When = None) -> list[Fact]: ...
    async def current(self, subject: str | None = None, as_of: When = None) -> list[Fact]: ...
    async def history(self, subject: str, attribute: str, as_of: When = None) -> list[Fact]: ...

class AsyncCode:
    def __init__(self, get: Callable[[], CodeMemory]) -> None: ...
    async def index(
        self,
        root: str | Path,
        *,
        unit: Unit | None = None,
        embed: bool | None = None,
        progress: Progress | None = None,
    ) -> CodeReceipt: ...
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
    ) -> list[CodeHit]: ...
    async def map(
        self,
        *,
        budget: int = 1000,
        root: str | Path | None = None,
        count_tokens: Callable[[str], int] = estimate_tokens,
    ) -> str: ...
    async def neighbours(
        self, path: str, definition: str, *, root: str | Path | None = None
    ) -> Neighbourhood: ...
    async def blocks(
        self, query: str, k: int = 5, *, root: str | Path | None = None
    ) -> list[CodeBlock]: ...
    async def record(
        self,
        instruction: str,
        *,
        root: str | Path = ".",
        before: Files | None = None,
        after: Files | None = None,
        note: str = "",
        outcome: str = "",
    ) -> tuple[SessionBlock, ...]: ...
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
    ) -> GeneratedCode: ...
    async def note(self, definition: str, note: str, *, outcome: str = "") -> SessionBlock: ...
    async def log(
        self, definition: str, *, root: str | Path | None = None
    ) -> tuple[SessionBlock, ...]: ...
    async def rounds(self) -> dict[str, list[RecordedBlock]]: ...
    async def check(
        self,
        *,
        root: str | Path = ".",
        staged: bool = False,
        commits: str | None = None,
        message: str = "",
        depth: int = DEPTH,
        progress: Progress | None = None,
    ) -> CheckReport: ...
    async def about(self, question: str, *, k: int = 5) -> About: ...
    async def repositories(self) -> list[str]: ...
    async def forget_rounds(self, definition: str) -> Forgotten: ...
    async def forget(self, root: str | Path) -> int: ...
