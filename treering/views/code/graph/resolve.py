"""Which definitions a call may mean (FragRel appendix A: in-file and cross-file calls).

Names are looked up as a reader would: the enclosing scopes, then what the file imports, then, where
the language lets names be used without an import, the same folder and the repository. A receiver
narrows the search to a class or a module where its type is known.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import PurePosixPath
from typing import NamedTuple

from treering.views.code.parse.language import LANGUAGES
from treering.views.code.parse.outline import (
    NONE,
    CallSite,
    CodeDefinition,
    ImportedName,
    ParsedFile,
)

MAX_CANDIDATES = 5
"""A name with more possible definitions says nothing about where a call goes."""
MAX_HOPS = 3
"""Modules that pass on the names of others do so through one or two more."""
_PATHS = 1 << 16
"""Paths whose parts are cached: those of a large repository."""
MAX_SAME_NAME = 256
"""The most definitions of one name in one place that a call is compared with. Each of ten thousand
calls would go through ten thousand of them, only to mean none, as a call may mean few."""
MAX_BASES = 20
"""Longer chains of base classes are taken for cycles."""

_PACKAGE_FILES = ("__init__", "index", "mod", "lib", "main")
"""Files that stand for the folder they are in."""
_SEVERAL_WORDS = re.compile(r"[^_]_[^_]|[a-z][A-Z]")
_FOLDER_IS_MODULE = tuple(
    suffix for each in LANGUAGES.values() if each.imports_folders for suffix in each.suffixes
)
_SEPARATOR = re.compile(r"/|::|\\|\.(?![./])(?!(?:h|hh|hpp|hxx|js|mjs|ts)$)")
"""The separators of the parts of a module's name; the dot of a file's suffix is not one."""


class CallTarget(NamedTuple):
    """A definition, by its file and its place there."""

    path: str
    place: int


Candidates = Sequence[tuple[CallTarget, ...]]
"""The possible definitions of each call of a file, in order."""


class Resolver:
    """Looks names up in the files of one repository; ``files`` maps path to parsed file."""

    def __init__(self, files: Mapping[str, ParsedFile]) -> None:
        self._files = files
        self.named: defaultdict[tuple[str, str], list[CallTarget]] = defaultdict(list)
        self._inside: defaultdict[tuple[str, str, int], list[CallTarget]] = defaultdict(list)
        self._members: defaultdict[tuple[str, str, str, str], list[CallTarget]] = defaultdict(list)
        self._modules: defaultdict[str, list[str]] = defaultdict(list)
        self.methods: defaultdict[tuple[str, str], list[tuple[CallTarget, str]]] = defaultdict(list)
        """Methods by family and name, with their owners in lower case."""
        self.files_of = cache(self._files_of)
        self._names_of = cache(lambda path: _File(self, path, files[path]))
        for path, parsed in files.items():
            self._add(path, parsed)

    def _add(self, path: str, parsed: ParsedFile) -> None:
        self._modules[module_parts(path)[-1]].append(path)
        kind = family(parsed)
        for place, definition in enumerate(parsed.definitions):
            target = CallTarget(path, place)
            self.named[kind, definition.name].append(target)
            within = self._inside[path, definition.name, definition.parent]
            if len(within) < MAX_SAME_NAME:
                within.append(target)
            if definition.kind == "method":
                self.methods[kind, definition.name].append((target, definition.owner.lower()))
            if definition.owner:
                members = self._members[kind, _folder(path), definition.owner, definition.name]
                if len(members) < MAX_SAME_NAME:
                    members.append(target)

    def resolve(self, path: str) -> list[tuple[CallTarget, ...]]:
        """The possible definitions of each call in the file at ``path``; often none."""
        return self._names_of(path).targets()

    def definition(self, target: CallTarget) -> CodeDefinition:
        """The definition that ``target`` names."""
        return self._files[target.path].definitions[target.place]

    def inside(self, path: str, name: str, scope: int) -> Sequence[CallTarget]:
        """The definitions called ``name`` directly inside definition ``scope`` of a file."""
        return self._inside.get((path, name, scope), ())

    def exports(self, path: str, name: str, hops: int = MAX_HOPS) -> list[CallTarget]:
        """The definitions that a file exports as ``name``: its own, or imported ones."""
        targets = [*self.inside(path, name, NONE)]
        if targets or not hops:
            return targets
        for item in self._files[path].imports:
            if item.name == "*" or name == (item.alias or item.name):
                original = name if item.name == "*" else item.name
                for origin in self.files_of(item.module, path):
                    targets.extend(self.exports(origin, original, hops - 1))
        return targets

    def members(self, owner: CallTarget, name: str) -> list[CallTarget]:
        """The members called ``name`` of the class ``owner``, or else of its bases."""
        seen: set[CallTarget] = set()
        level = [owner]
        while level and len(seen) < MAX_BASES:
            members = [member for cls in level for member in self._own_members(cls, name)]
            if members:
                return members
            seen.update(level)
            level = [
                base
                for cls in level
                for name_of_base in self.definition(cls).bases
                for base in self._names_of(cls.path).classes(name_of_base, NONE)
                if base not in seen
            ]
        return []

    def _own_members(self, owner: CallTarget, name: str) -> Sequence[CallTarget]:
        kind, folder = family(self._files[owner.path]), _folder(owner.path)
        # methods may be written outside the class (Go, Rust, C++), but then in the same folder
        return self._members.get((kind, folder, self.definition(owner).name, name), ())

    def _files_of(self, module: str, importer: str) -> list[str]:
        """The files that ``module``, as written in the file ``importer``, can mean."""
        parts, relative = _absolute(module, importer)
        paths = self._modules.get(parts[-1], ())
        whole = [path for path in paths if module_parts(path) == parts]
        if whole or relative:
            return whole
        shared = _shares_names(self._files[importer])
        below = [path for path in paths if module_parts(path)[-len(parts) :] == parts]
        if len(parts) == 1 and not shared:
            # a bare name counts from a folder above the importer only: a project's
            # ``tools/json.py`` is not what ``import json`` means elsewhere
            here = PurePosixPath(importer).parent.parts
            above = [here[:depth] for depth in range(len(here) + 1)]
            below = [path for path in below if module_parts(path)[:-1] in above]
        # or the repository's root is the package itself
        return below or [path for path in paths if module_parts(path) == parts[1:]]


class _File:
    """The names of one file."""

    def __init__(self, resolver: Resolver, path: str, parsed: ParsedFile) -> None:
        self.resolver = resolver
        self.path = path
        self.parsed = parsed
        self.family = family(self.parsed)
        language = LANGUAGES.get(self.parsed.language or "")
        self.shared_names = _shares_names(self.parsed)
        self.selves = language.selves if language else ()
        self.imports: defaultdict[str, list[ImportedName]] = defaultdict(list)
        for item in self.parsed.imports:
            self.imports[_local_name(item, self.shared_names)].append(item)
        self.from_elsewhere = cache(lambda name: self.by_imports(name) or self.visible(name))
        self.guess = cache(self._guess)
        self.first_types: dict[str, str] = {}
        for binding in self.parsed.bindings:
            self.first_types.setdefault(binding.variable, binding.type)
        self.types = {(b.scope, b.variable): b.type for b in self.parsed.bindings}

    def targets(self) -> list[tuple[CallTarget, ...]]:
        by_key: dict[tuple[int, str, str], tuple[CallTarget, ...]] = {}
        resolved = []
        for call in self.parsed.calls:
            key = (call.scope, call.receiver, call.name)
            if key not in by_key:
                by_key[key] = self.call(call)
            resolved.append(by_key[key])
        return resolved

    def call(self, call: CallSite) -> tuple[CallTarget, ...]:
        targets = self.on_receiver(call) if call.receiver else self.plain(call.name, call.scope)
        unique: dict[CallTarget, None] = {}
        for target in targets:
            unique[target] = None
            if len(unique) > MAX_CANDIDATES:
                return ()
        return tuple(unique)

    def plain(self, name: str, scope: int) -> Sequence[CallTarget]:
        return self.local(name, scope) or self.from_elsewhere(name)

    def local(self, name: str, scope: int) -> Sequence[CallTarget]:
        """The nearest definition of ``name`` around ``scope`` in this file."""
        while True:
            nearest = self.resolver.inside(self.path, name, scope)
            if nearest or scope == NONE:
                return nearest
            scope = self.parsed.definitions[scope].parent

    def by_imports(self, name: str) -> list[CallTarget]:
        targets: list[CallTarget] = []
        for item in [*self.imports.get(name, ()), *self.imports.get("*", ())]:
            original = name if item.name in ("", "*") else item.name
            for path in self.resolver.files_of(item.module, self.path):
                targets.extend(self.resolver.exports(path, original))
        return targets

    def visible(self, name: str) -> Sequence[CallTarget]:
        if not self.shared_names:
            return ()
        targets = self.resolver.named.get((self.family, name), ())
        near = [target for target in targets if _folder(target.path) == _folder(self.path)]
        return near or targets

    def on_receiver(self, call: CallSite) -> Sequence[CallTarget]:
        """The definitions of a name that is looked up on a receiver."""
        if call.receiver in self.selves:
            owner = self.owner(call.scope)
            return [m for cls in owner for m in self.resolver.members(cls, call.name)]
        for cls in self.classes(self.type_of(call.receiver, call.scope), call.scope):
            if targets := self.resolver.members(cls, call.name):
                return targets
        if targets := self.member_of_module(call.receiver.replace("::", "."), call.name):
            return targets
        if call.receiver in self.imports:
            return ()
        return self.guess(call.receiver, call.name)

    def _guess(self, receiver: str, name: str) -> list[CallTarget]:
        """The methods of a name where the receiver's type is unknown.

        A receiver called like a class is taken for one. Else only names of several words count: a
        ``get`` or ``write`` on something unknown is more often a built-in than one of these.
        """
        methods = self.resolver.methods.get((self.family, name), ())
        hint = re.split(r"\W+", receiver)[-1].replace("_", "").lower()
        alike = [target for target, owner in methods if hint and hint in owner]
        if alike or not _SEVERAL_WORDS.search(name):
            return alike
        # One more than ``MAX_CANDIDATES`` is enough: then the call gets no candidates.
        return [target for target, _ in methods[: MAX_CANDIDATES + 1]]

    def owner(self, scope: int) -> list[CallTarget]:
        """The class whose method ``scope`` is in."""
        while scope != NONE:
            definition = self.parsed.definitions[scope]
            if definition.owner:
                return self.classes(definition.owner, scope)
            scope = definition.parent
        return []

    def type_of(self, receiver: str, scope: int) -> str:
        """The type written down for ``receiver`` around ``scope``, or ``receiver`` itself."""
        at = scope
        while True:
            if (at, receiver) in self.types:
                return _bare(self.types[at, receiver])
            if at == NONE:
                break
            at = self.parsed.definitions[at].parent
        if receiver.split(".")[0] in self.selves:
            return _bare(self.first_types.get(receiver, receiver))
        return receiver

    def classes(self, name: str, scope: int) -> list[CallTarget]:
        """The classes that ``name`` means."""
        module, _, last = name.replace("::", ".").rpartition(".")
        targets = self.plain(last, scope) if not module else self.member_of_module(module, last)
        return [t for t in targets if self.resolver.definition(t).kind == "class"]

    def member_of_module(self, receiver: str, name: str) -> list[CallTarget]:
        """The definition ``name`` of the module known here as ``receiver``."""
        targets: list[CallTarget] = []
        for item in self.imports.get(receiver, ()):
            for path in self.resolver.files_of(_module_of(item), self.path):
                targets.extend(self.resolver.exports(path, name))
        return targets


def updated_calls(
    old: Mapping[str, ParsedFile],
    new: Mapping[str, ParsedFile],
    calls: Mapping[str, Candidates],
) -> dict[str, Candidates]:
    """The candidates of every call of ``new``, given those of ``old``.

    While files offer the same names, only those that changed are resolved again. Equal candidates
    are the same object: they are not stored again.
    """
    changed = {path for path, parsed in new.items() if old.get(path) is not parsed}
    is_alike = all(
        _interface(old.get(path)) == _interface(new.get(path))
        for path in changed | (old.keys() - new.keys())
    )
    stale = changed if is_alike else set(new)
    resolver = Resolver(new)
    fresh = {path: resolver.resolve(path) if path in stale else calls[path] for path in new}
    return {path: calls[path] if calls.get(path) == own else own for path, own in fresh.items()}


def _interface(parsed: ParsedFile | None) -> object:
    """The definitions of a file and its imports, which other files may see."""
    if parsed is None:
        return None
    return [(each.qualified, each.kind, each.bases) for each in parsed.definitions], parsed.imports


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def family(parsed: ParsedFile) -> str:
    """The family of languages whose names a file shares."""
    name = parsed.language or ""
    return (LANGUAGES[name].family if name else "") or name


@lru_cache(_PATHS)
def module_parts(path: str) -> tuple[str, ...]:
    """The names an import spells to reach a file: ``pkg/sub/__init__.py`` is (pkg, sub)."""
    pure = PurePosixPath(path)
    folder = pure.parent.parts
    stem = pure.name.split(".")[0]
    if folder and (stem in _PACKAGE_FILES or pure.suffix in _FOLDER_IS_MODULE):
        return folder
    return (*folder, stem)


def _shares_names(parsed: ParsedFile) -> bool:
    language = LANGUAGES.get(parsed.language or "")
    return bool(language and language.shared_names)


def _absolute(module: str, importer: str) -> tuple[tuple[str, ...], bool]:
    """The parts of a module's name, and whether they are counted from the importer's folder."""
    folder = PurePosixPath(importer).parent.parts
    if module.startswith(".") and "/" not in module:
        names = module.lstrip(".")
        up = len(module) - len(names) - 1
        parts = (*folder[: len(folder) - up], *(name for name in names.split(".") if name))
        return parts or ("",), True
    relative = module.startswith(".")
    parts = folder if relative else ()
    for name in _SEPARATOR.split(module):
        if name == "..":
            parts = parts[:-1]
        elif name not in ("", ".", "crate", "self", "super"):
            parts = (*parts, name.split(".")[0])
    return parts or ("",), relative


def _module_of(item: ImportedName) -> str:
    """The module that an import names if what it imports is a module."""
    if not item.name:
        return item.module
    return f"{item.module}{'' if item.module.endswith('.') else '.'}{item.name}"


def _local_name(item: ImportedName, by_last_part: bool) -> str:
    """The name an import is used by in its file: ``a.b`` in Python, ``b`` elsewhere."""
    if item.alias or item.name:
        return item.alias or item.name
    last = re.split(r"/|::", item.module)[-1]
    return last.split(".")[-1] if by_last_part else last


def _bare(written: str) -> str:
    """A type's name without optionality, quotes, pointers or parameters."""
    return re.split(r"[\[<|&*?( ]", written.strip("\"'&* "))[0]
