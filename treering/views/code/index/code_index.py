"""The searchable index of one repository: BM25 and embeddings, with the code relation on top."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Floats
from treering.errors import EmptyText, InputError, UnknownName
from treering.records import MODES, Mode, Why
from treering.search.lexical import Lexical
from treering.search.scores import standardise
from treering.search.searcher import check_choice, check_count
from treering.search.terms import Terms, terms
from treering.views.choices import EdgeWeights, Unit
from treering.views.code.graph.code_graph import EDGES, Trunk, trunk
from treering.views.code.graph.operator import CodeRelation
from treering.views.code.graph.resolve import CallTarget, Candidates, updated_calls
from treering.views.code.index.paths import ASIDE, files_at, is_asked_for
from treering.views.code.parse.cuts import Lines, cut
from treering.views.code.parse.outline import NONE, CodeDefinition, Ints, ParsedFile, SyntaxTree
from treering.views.code.parse.parser import parse

ALPHA = 0.5
"""The weight of the code relation (FragRel, 4.2)."""
NEAR = np.float32(4)
"""The weight of the most related fragment to a place, in standard deviations of the base score."""


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """One file of an index."""

    source: bytes
    decode: Callable[[], ParsedFile]
    """Makes ``parsed`` on first use: most files of a repository are never opened."""
    fragments: tuple[Lines, ...]
    terms: Terms
    """The terms of all fragments, one after another, and of how many each has."""
    term_counts: Ints
    trunk: Trunk
    vectors: Floats | None = None
    """A unit row a fragment, or None where the repository is not embedded."""

    @property
    def parsed(self) -> ParsedFile:
        """The parsed file, without its syntax tree."""
        return self.decode()

    def fragment_text(self, lines: Lines) -> str:
        """The text of a fragment."""
        piece = self.source.split(b"\n")[lines.first - 1 : lines.last]
        return b"\n".join(piece).decode(errors="replace")


_NO_TERMS = np.zeros((0, 2), dtype=np.uint32)
NO_TREE = SyntaxTree(*(np.zeros(0, dtype=np.int32),) * 3)


def index_file(text: str, path: str, language: str | None, unit: Unit) -> IndexedFile:
    """Parse, cut and count one file; its path's words count for each of its fragments."""
    parsed = parse(text, language)
    fragments = cut(parsed, unit)
    lines = parsed.lines()
    texts = (
        b"\n".join(lines[piece.first - 1 : piece.last]).decode(errors="replace")
        for piece in fragments
    )
    bare = replace(parsed, tree=NO_TREE)
    counted = [code_terms(f"{path} {text}") for text in texts]
    return IndexedFile(
        source=parsed.source,
        decode=lambda: bare,
        fragments=fragments,
        terms=np.concatenate([_NO_TERMS, *counted]),
        term_counts=np.array([len(terms) for terms in counted], dtype=np.int32),
        trunk=trunk(parsed, fragments),
    )


@dataclass(frozen=True, slots=True)
class CodeHit:
    """A fragment of code that answers a query, with its place and the reason."""

    score: float
    path: str
    first_line: int
    last_line: int
    definition: str
    """The qualified name of the innermost definition that holds it, or an empty string."""
    text: str
    why: Why


class CodeIndex:
    """The fragments of a repository's files. To update one that others search, copy it before: what
    copies share never changes.

    ``unit`` is how files are cut: ``blocks`` along definitions or FragRel's ``windows``. ``edges``
    are the weights of the code graph.
    """

    def __init__(self, unit: Unit = "blocks", edges: EdgeWeights = EDGES) -> None:
        self.unit: Unit = unit
        self.files: Mapping[str, IndexedFile] = {}
        """The files by path, in the order of their fragments."""
        self.calls: Mapping[str, Candidates] = {}
        """The possible definitions of each file's calls."""
        self.relation = CodeRelation.build({}, {}, edges)
        self._lexical = Lexical()
        self._rows: list[tuple[str, Lines]] = []

    def __len__(self) -> int:
        """The number of fragments."""
        return len(self._rows)

    def update(
        self,
        files: Mapping[str, IndexedFile],
        removed: Iterable[str] = (),
    ) -> None:
        """Take in new and changed files and drop those that are gone."""
        gone = {*removed, *files}
        unchanged = {path: file for path, file in self.files.items() if path not in gone}
        new = unchanged | dict(files)
        old_parsed = {path: file.parsed for path, file in self.files.items()}
        new_parsed = {path: file.parsed for path, file in new.items()}
        self.restore(new, updated_calls(old_parsed, new_parsed, self.calls))

    def restore(self, files: Mapping[str, IndexedFile], calls: Mapping[str, Candidates]) -> None:
        """Become the index of ``files``, given the candidates of their calls."""
        self.files, self.calls = files, calls
        trunks = {path: file.trunk for path, file in files.items()}
        self.relation = CodeRelation.build(trunks, calls, self.relation.graph.edges)
        counted = np.concatenate([_NO_TERMS, *(file.terms for file in files.values())])
        none = np.zeros(0, dtype=np.int64)
        sizes = np.concatenate([none, *(file.term_counts for file in files.values())])
        self._lexical = Lexical().extend(counted, sizes)
        self._rows = [(path, piece) for path, file in files.items() for piece in file.fragments]

    def search(
        self,
        query: str,
        *,
        k: int = 10,
        mode: Mode = "lexical",
        vector: Floats | None = None,
        alpha: float = ALPHA,
        near: str | None = None,
        paths: Sequence[str] | None = None,
        aside: bool = True,
    ) -> list[CodeHit]:
        """The k fragments that matter most to ``query``: ``own + α·env`` (FragRel eq. 10).

        ``vector`` is the query's embedding, unit length, for the modes ``hybrid`` and ``dense``;
        ``alpha`` 0 leaves the code relation out. ``near``, ``PATH`` or ``PATH:LINE``, is where the
        code will go; it adds how related each fragment is to that place. With ``aside``, files that
        the query does not ask for, such as tests, count less. ``paths`` are patterns of the files
        that may be found, see ``files_at``.
        Raises EmptyText, InputError, UnknownName.
        """
        _check(query, k, mode)
        if not len(self):
            return []
        terms = self.score(query, mode=mode, vector=vector, alpha=alpha)
        if near is not None:
            terms["near"] = NEAR * self.nearness(near)
        total = np.sum(list(terms.values()), axis=0)
        if aside and (unwanted := self._aside(query, near)).any():
            # Scores are distances from a mean: count a fragment's score from the least.
            terms["aside"] = np.where(unwanted, (ASIDE - 1) * (total - total.min()), np.float32(0))
            total = total + terms["aside"]
        if paths is not None:
            total[~self._among(files_at(self.files, paths))] = -np.inf
        best = np.argsort(-total, kind="stable")[:k]
        return [self._hit(int(row), terms) for row in best if total[row] > -np.inf]

    def says_any(self, query: str) -> bool:
        """Whether any fragment says a word of a query. Raises EmptyText."""
        _check(query, 1, "lexical")
        return bool(self._lexical.score(code_terms(query)).any())

    def _aside(self, query: str, near: str | None) -> NDArray[np.bool_]:
        """Which fragments are of files that are not asked for, shape (N,)."""
        asked_for = is_asked_for(query, near and _parse_place(near)[0])
        return ~self._among({path for path in self.files if asked_for(path)})

    def _among(self, paths: Collection[str]) -> NDArray[np.bool_]:
        """Which fragments are of some files, shape (N,)."""
        return np.fromiter((path in paths for path, _ in self._rows), np.bool_, len(self._rows))

    def score(
        self, query: str, *, mode: Mode, vector: Floats | None, alpha: float
    ) -> dict[str, Floats]:
        """The terms that add up to the score of every fragment, each of shape (N,)."""
        terms: dict[str, Floats] = {}
        if mode != "dense":
            terms["lexical"] = standardise(self._lexical.score(code_terms(query)))
        if mode != "lexical":
            terms["dense"] = standardise(self._cosines(vector))
        if alpha:
            terms["code"] = np.float32(alpha) * self.environment(
                np.sum(list(terms.values()), axis=0)
            )
        return terms

    def environment(self, own: Floats) -> Floats:
        """``W·own / W·1`` of the code relation (eq. 9), for base scores of shape (N,)."""
        operator = self.relation.operator
        mass = operator.mass
        env = operator.propagate(own)
        env /= np.where(mass > 0, mass, np.float32(1))
        return env

    def nearness(self, place: str) -> Floats:
        """How related each fragment is to a place, 1 for the most related, shape (N,).

        Raises UnknownName for a file that is not indexed.
        """
        file, line = _parse_place(place)
        if file not in self.files:
            raise UnknownName(f"no file {file!r} in the index; give its path from the root")
        there = [
            path == file and (line is None or piece.first <= line <= piece.last)
            for path, piece in self._rows
        ]
        related = self.relation.operator.propagate(np.array(there, dtype=np.float32))
        most = related.max(initial=0)
        nearness: Floats = np.sqrt(related / most) if most > 0 else related
        return nearness

    def definitions(self) -> list[tuple[str, CodeDefinition]]:
        """All definitions with the paths of their files."""
        return [(p, definition) for p, file in self.files.items()
                for definition in file.parsed.definitions]  # fmt: skip

    def call_edges(self) -> Iterator[tuple[CallTarget, CallTarget, float]]:
        """Each call inside a definition: the caller, one it may call, and the share of the call."""
        for path, candidates in self.calls.items():
            calls = self.files[path].parsed.calls
            for call, targets in zip(calls, candidates, strict=True):
                if call.scope != NONE:
                    caller = CallTarget(path, call.scope)
                    yield from ((caller, target, 1 / len(targets)) for target in targets)

    def definition(self, target: CallTarget) -> CodeDefinition:
        """The definition that a target names."""
        return self.files[target.path].parsed.definitions[target.place]

    def _cosines(self, vector: Floats | None) -> Floats:
        vectors = [file.vectors for file in self.files.values() if file.vectors is not None]
        if vector is None or len(vectors) < len(self.files):
            raise InputError("the repository is not embedded; index it with embeddings, or lexical")
        cosines: Floats = np.concatenate([rows @ vector for rows in vectors])
        return cosines

    def _hit(self, row: int, terms: Mapping[str, Floats]) -> CodeHit:
        path, lines = self._rows[row]
        file = self.files[path]
        name = (
            "" if lines.definition == NONE else file.parsed.definitions[lines.definition].qualified
        )
        why = Why({name: float(values[row]) for name, values in terms.items()})
        return CodeHit(
            score=sum(why.terms.values()),
            path=path,
            first_line=lines.first,
            last_line=lines.last,
            definition=name,
            text=file.fragment_text(lines),
            why=why,
        )


def _parse_place(place: str) -> tuple[str, int | None]:
    """Read ``PATH`` or ``PATH:LINE``."""
    path, colon, line = place.rpartition(":")
    return (path, int(line)) if colon and line.isdecimal() else (place, None)


def _check(query: str, k: int, mode: str) -> None:
    if not query.strip():
        raise EmptyText("the query is empty; say what the code is needed for", param="query")
    check_count("k", k)
    check_choice("mode", mode, MODES)


_COMPOUND = re.compile(r"(?<!\w)\w*(?:_\w|[a-z][A-Z]|[A-Z]{2}[a-z])\w*")
"""Identifiers of several words: snake_case, camelCase, HTTPServer. Looked for from the beginnings
of words alone: from each letter it took minutes for 100,000 digits of data in a source file."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\dA-Z_]+|\d+")


def code_terms(text: str) -> Terms:
    """The terms of code or of a question about it; see ``terms`` for their form."""
    return terms(_COMPOUND.sub(lambda match: _words(match[0]), text))


@lru_cache(maxsize=1 << 16)  # the same identifiers come again and again
def _words(identifier: str) -> str:
    """An identifier in lower case, followed by its words."""
    return " ".join([identifier, *_WORD.findall(identifier)]).lower()
