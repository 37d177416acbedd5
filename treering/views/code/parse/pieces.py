"""From two states of a set of files to the definitions that changed, renames and moves followed."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from treering.views.code.parse.language import LANGUAGES, language_of
from treering.views.code.parse.outline import NONE, CodeDefinition, ParsedFile
from treering.views.code.parse.parser import parse
from treering.views.code.parse.parts import (
    BEHAVIOUR,
    CodePart,
    Parts,
    overlap,
    read_definition,
)
from treering.views.code.parse.source_files import MAX_BYTES, is_minified
from treering.views.code.parse.syntax import CodeStatement, statements

MOVED = 0.5
"""Share of parts that definitions of one name in two files must have in common to be one."""

RENAMED = 0.8
"""Share of parts that a vanished definition and a new one must have in common to be one."""


def dense(code: str) -> str:
    """Code without blank lines."""
    return "\n".join(line for line in code.splitlines() if line.strip())


@dataclass(frozen=True, slots=True)
class CodePiece:
    """A definition of a file, as code that parses alone.

    A method stands in its class's header; of a class there is what is not in its methods, of a
    file (``qualified`` is empty) what is in no definition, with blank lines for the rest.
    ``first_line`` is the line of the file that the line after the first ``header`` lines of
    ``code`` is; 0 where that is not known.
    ``is_function`` is whether it is a function or method, so that its behaviour can be read.
    """

    path: str
    qualified: str
    language: str
    code: str
    is_function: bool = False
    first_line: int = 0
    header: int = 0

    @property
    def key(self) -> str:
        """The key of its sequence."""
        return f"{self.path}::{self.qualified}"

    def parts(self) -> tuple[CodePart, ...]:
        """All that is compared of it, in the order of its lines."""
        name = self.qualified if self.is_function else ""
        return read_definition(self.code, name, self.language) or ()

    def statements(self) -> tuple[CodeStatement, ...]:
        """The statements of a class or file but imports."""
        return statements(self.code, self.language, imports=False)

    def behaviour(self) -> Parts:
        """The parts of a function that bear behaviour; nothing of a class or file."""
        parts = self.parts() if self.is_function else ()
        return Counter(part for part in parts if part.kind in BEHAVIOUR)

    def dense(self) -> str:
        """Its code without blank lines."""
        return dense(self.code)

    def line(self, line: int) -> int:
        """The line of the file that a line of ``code`` is."""
        return max(self.first_line + line - 1 - self.header, self.first_line)


@dataclass(frozen=True, slots=True)
class DefinitionChange:
    """One definition before and after; None where it was not there."""

    before: CodePiece | None
    after: CodePiece | None

    @property
    def piece(self) -> CodePiece:
        """The definition as it is now, or as it was where it is gone."""
        piece = self.after or self.before
        assert piece is not None  # a change has one side at least
        return piece


def changes(
    old: Mapping[str, CodePiece], new: Mapping[str, CodePiece]
) -> tuple[DefinitionChange, ...]:
    """The changes between two states of some files, given as pieces by key.

    A definition that is gone and one that is new are one where they are of one name and do about
    the same (it moved), or of other names and do the same (it was renamed). What differs in blank
    lines alone has not changed, nor has what a class or file says beside its definitions where
    only imports, comments and docstrings differ.
    """
    gone = {key: piece for key, piece in old.items() if key not in new}
    come = {key: piece for key, piece in new.items() if key not in old}
    matched = dict(_match_pieces(gone.values(), come.values()))
    changed = [
        DefinitionChange(old[key], piece)
        for key, piece in new.items()
        if key in old
        and old[key].dense() != piece.dense()
        and (piece.is_function or old[key].statements() != piece.statements())
    ]
    changed += [DefinitionChange(matched.get(key), piece) for key, piece in come.items()]
    continued = {piece.key for piece in matched.values()}
    changed += [
        DefinitionChange(piece, None) for key, piece in gone.items() if key not in continued
    ]
    return tuple(changed)


def pieces(path: str, text: str) -> dict[str, CodePiece]:
    """The pieces of a file by key; empty if the language is unknown, or the file is generated.

    To parse and compare a bundle of some megabytes would take minutes.

    Functions inside functions belong to these. Definitions of one name (overloads, a property's
    accessors) are one piece.
    """
    language = language_of(path)
    if language is None or len(text) > MAX_BYTES or is_minified(text):
        return {}
    parsed = parse(text, language)
    by_key: dict[str, CodePiece] = {}
    for piece in _pieces(path, language, parsed):
        if piece.code.strip():
            twin = by_key.get(piece.key)
            whole = f"{twin.code.rstrip()}\n\n{piece.code}" if twin else piece.code
            by_key[piece.key] = replace(twin or piece, code=whole)
    return by_key


def all_pieces(files: Mapping[str, str]) -> dict[str, CodePiece]:
    """The pieces of several files, given as texts by path; other languages are passed over."""
    return {key: piece for path, text in files.items() for key, piece in pieces(path, text).items()}


def in_class(signature: str, method: str, language: str) -> str:
    """The code of a method in the header of its class, where a method needs one to parse."""
    match LANGUAGES[language].methods_in:
        case "indent":
            return f"{signature}:\n{method}"
        case "braces":
            return f"{signature} {{\n{method}\n}}"
    return method


def _pieces(path: str, language: str, parsed: ParsedFile) -> Iterator[CodePiece]:
    outer = [_is_outer(parsed.definitions, index) for index in range(len(parsed.definitions))]
    yield CodePiece(path, "", language, _shell(parsed, NONE, outer), first_line=1)
    for index, definition in enumerate(parsed.definitions):
        if not outer[index]:
            continue
        first = definition.span.first_line
        if definition.kind == "class":
            shell = _shell(parsed, index, outer)
            yield CodePiece(path, definition.qualified, language, shell, first_line=first)
        else:
            code, header = _alone(parsed, definition, language)
            yield CodePiece(path, definition.qualified, language, code, True, first, header)


def _is_outer(definitions: tuple[CodeDefinition, ...], index: int) -> bool:
    """Whether a definition is in no function."""
    above = definitions[index].parent
    while above != NONE and definitions[above].kind == "class":
        above = definitions[above].parent
    return above == NONE


def _shell(parsed: ParsedFile, index: int, outer: list[bool]) -> str:
    """The text of a class, or of a file, with blank lines for the definitions in it."""
    whole = parsed.definitions[index].span if index != NONE else None
    at, end = (whole.start, whole.end) if whole else (0, len(parsed.source))
    texts = []
    for place, inner in enumerate(parsed.definitions):
        if inner.parent == index and outer[place] and inner.span.start >= at:
            texts.append(parsed.source[at : inner.span.start])
            texts.append(b"\n" * parsed.source.count(b"\n", inner.span.start, inner.span.end))
            at = inner.span.end
    texts.append(parsed.source[at:end])
    return b"".join(texts).decode(errors="replace")


def _alone(parsed: ParsedFile, definition: CodeDefinition, language: str) -> tuple[str, int]:
    """A function's code, a method's in the header of its class, and how many lines that has."""
    start = definition.span.start
    lead = parsed.source[parsed.source.rfind(b"\n", 0, start) + 1 : start].decode(errors="replace")
    text = (lead if not lead.strip() else "") + parsed.text(definition.span)
    inside = parsed.definitions[definition.parent] if definition.parent != NONE else None
    if inside is None or not LANGUAGES[language].methods_in:
        return textwrap.dedent(text), 0
    return in_class(inside.signature, text, language), 1


def _match_pieces(
    gone: Iterable[CodePiece], come: Iterable[CodePiece]
) -> Iterator[tuple[str, CodePiece]]:
    """Pairs of the key of a new piece and the piece it was, the likest first."""
    left, new = [[(piece, piece.behaviour()) for piece in side] for side in (gone, come)]
    pairs = [
        (overlap(was_parts, parts), was, piece)
        for piece, parts in new
        for was, was_parts in left
        if parts and was_parts and was.language == piece.language
    ]
    taken: set[str] = set()
    for likeness, was, now in sorted(pairs, key=lambda pair: -pair[0]):
        names = {piece.qualified.rpartition(".")[2] for piece in (was, now)}
        enough = RENAMED if len(names) > 1 else MOVED
        if likeness >= enough and taken.isdisjoint({was.key, now.key}):
            taken |= {was.key, now.key}
            yield now.key, was
