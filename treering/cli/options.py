"""The options that commands share, each written once, and how a command takes them in.

A command asks for a group of options by a parameter with the group's type:

    @command(commands)
    def search(run: Run, query: Query, where: Filters) -> None: ...

``run`` brings the options that every command has: which memory, which models, and ``--json``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, make_dataclass
from difflib import get_close_matches
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeGuard, TypeVar, get_type_hints

import typer

from treering.cli.global_options import Globals, run_of
from treering.cli.moments import FORMS, moment
from treering.cli.output import long_path
from treering.cli.run import Run
from treering.errors import InputError
from treering.parameters import parameter_help
from treering.records import JSON, Kind
from treering.text import nearest_told

if TYPE_CHECKING:
    from treering.memory import Memory

_FILTERS = "Filters (all that are given must hold)"
_RANKING = "Ranking"

NO_RELATION = "none"


@dataclass(frozen=True, slots=True)
class Filters:
    """Which entries are meant."""

    source: Annotated[
        str | None,
        typer.Option(
            help="Only from this source, as `treering list --sources` shows it, or a file or "
            "folder that was added. If it ends in /, everything below that folder.",
            rich_help_panel=_FILTERS,
        ),
    ] = None
    speaker: Annotated[
        str | None, typer.Option(help="Only what this person said.", rich_help_panel=_FILTERS)
    ] = None
    session: Annotated[
        str | None, typer.Option(help="Only from this session.", rich_help_panel=_FILTERS)
    ] = None
    kind: Annotated[
        Kind | None, typer.Option(help="Only content of this kind.", rich_help_panel=_FILTERS)
    ] = None
    since: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help=f"Only from this time on: {FORMS}. Entries without a time are left out.",
            rich_help_panel=_FILTERS,
        ),
    ] = None
    until: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Only before this time. Entries without a time are left out.",
            rich_help_panel=_FILTERS,
        ),
    ] = None
    as_of: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help=f"Only what was known then, and as it was marked then: {FORMS}.",
            rich_help_panel=_FILTERS,
        ),
    ] = None
    meta: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="Only with this metadata; may be repeated, also as KEY!=VALUE, KEY>=VALUE, "
            "KEY<VALUE. A value is read as JSON if it is valid JSON: 7 is a number, '\"7\"' a "
            'text, \'{"$in": [7, 8]}\' one of several; one that begins with {, [ or " must be.',
            rich_help_panel=_FILTERS,
        ),
    ] = None

    def of(self, memory: Memory) -> dict[str, Any]:
        """The filters as ``where``, for one memory.

        What was typed to add a file or folder selects it, and with ``#`` a part of a document: it
        stands for the path that it means here, unless a source is called so.
        """
        given = self.where()
        source = given.get("source")
        if source and not memory.page(limit=1, source=source).entries:
            given["source"] = _typed_path(source) or _typed_part(memory, source) or source
        return given

    def why_nothing(self, memory: Memory) -> Iterator[str]:
        """What may be the reason that nothing meets these filters."""
        source = self.of(memory).get("source")
        if source and not memory.page(limit=1, source=source).entries:
            sources = {entry.source for entry in memory.entries()}
            near = get_close_matches(source, sources, 1)
            meant = f", but {near[0]!r} has some" if near else ""
            every = "`treering list --sources` shows all"
            yield f"no entry has the source {self.source!r}{meant}; {every}"
        for of, given in (("speaker", self.speaker), ("session", self.session)):
            if given:
                yield from _near_names(of, given, (getattr(e, of) for e in memory.entries()))
        if self.since or self.until:
            untimed = sum(entry.at is None for entry in memory.entries())
            if untimed:
                have = "entry has" if untimed == 1 else "entries have"
                yield f"{untimed:,} {have} no time: --since and --until leave out what has none"

    def where(self) -> dict[str, Any]:
        """The filters that are given, as ``Memory`` takes them."""
        plain = {
            option.name: getattr(self, option.name)
            for option in fields(self)
            if option.name != "meta"
        }
        plain |= {
            "source": long_path(self.source),
            "since": moment(self.since),
            "until": moment(self.until),
            "as_of": moment(self.as_of),
        }
        given = {key: value for key, value in plain.items() if value is not None}
        return given | ({"metadata": _conditions(self.meta)} if self.meta else {})


def _near_names(of: str, given: str, names: Iterable[str | None]) -> Iterator[str]:
    """That nobody is called so, and who nearly is; nothing if somebody is."""
    there = {name for name in names if name}
    if given not in there:
        yield f"no entry has the {of} {given!r}{nearest_told(given, there)}"


@dataclass(frozen=True, slots=True)
class RankingOptions:
    """How candidates are scored."""

    mode: Annotated[
        Literal["hybrid", "lexical", "dense"] | None,
        typer.Option(
            help="How a text itself is scored: hybrid (words and meaning), lexical (BM25) or dense "
            "(cosine).",
            rich_help_panel=_RANKING,
        ),
    ] = None
    relation: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Also count how well related fragments score. Relations: context, time, semantic, "
            "session, speaker, message, named, mention, when, role, wish, parts, source, "
            "reply, topic, tree; may be repeated; 'none' for plain search. "
            "Default: those that suit each kind of content.",
            rich_help_panel=_RANKING,
        ),
    ] = None
    alpha: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WEIGHT",
            help="How much relations count: a number for all, or NAME=NUMBER; may be repeated.",
            rich_help_panel=_RANKING,
        ),
    ] = None

    min_confidence: Annotated[
        float,
        typer.Option(
            metavar="0..1",
            help="Nothing that is less sure to answer; 0.1 leaves out most that does not.",
            rich_help_panel=_RANKING,
        ),
    ] = 0.0

    def chosen(self) -> dict[str, Any]:
        """The choice as ``Memory`` takes it. Raises InputError."""
        return {
            "mode": self.mode,
            "relations": self._relations(),
            "alpha": self._alpha(),
            "min_confidence": self._confidence(),
        }

    def _confidence(self) -> float:
        if not 0.0 <= self.min_confidence <= 1.0:  # nor is "nan", which no range of an option sees
            raise InputError(f"--min-confidence {self.min_confidence:g}; give a number from 0 to 1")
        return self.min_confidence

    def _relations(self) -> tuple[str, ...] | None:
        if not self.relation:
            return None
        if NO_RELATION not in self.relation:
            return tuple(self.relation)
        if len(self.relation) > 1:
            raise InputError(f"--relation {NO_RELATION} cannot go with other relations")
        return ()

    def _alpha(self) -> float | dict[str, float] | None:
        if not self.alpha:
            return None
        if len(self.alpha) == 1 and "=" not in self.alpha[0]:
            return _number(self.alpha[0])
        pairs = (_pair(weight, "--alpha", "NAME=NUMBER") for weight in self.alpha)
        return {name: _number(value) for name, value in pairs}


@dataclass(frozen=True, slots=True)
class EntryOptions:
    """What is known of what is taken in."""

    kind: Annotated[
        Kind | None, typer.Option(help="What it is. Default: by the file's name and content.")
    ] = None
    at: Annotated[
        str | None, typer.Option(metavar="TIME", help=f"When it was said or written: {FORMS}.")
    ] = None
    speaker: Annotated[str | None, typer.Option(help="Who said it.")] = None
    session: Annotated[str | None, typer.Option(help="The conversation it belongs to.")] = None
    meta: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="Metadata; may be repeated, each key once, which ends in none of <, > and !. A "
            'value is read as JSON if it is valid JSON; one that begins with {, [ or " must be. '
            "Else it is text.",
        ),
    ] = None
    mask: Annotated[
        bool, typer.Option("--mask", help="Store no keys, passwords and <private> passages.")
    ] = False

    def chosen(self) -> dict[str, Any]:
        """The options as ``Memory.add`` takes them. Raises InputError."""
        return {
            "kind": self.kind,
            "at": moment(self.at),
            "speaker": self.speaker,
            "session": self.session,
            "metadata": stored_metadata(self.meta),
            "mask": self.mask,
        }


def metadata(pairs: list[str] | None) -> dict[str, JSON]:
    """Metadata from ``KEY=VALUE``; a value is JSON if it can be read as such, else text.

    Raises InputError for one that begins like JSON and is none.
    """
    parsed = (_pair(pair, "--meta", "KEY=VALUE") for pair in pairs or ())
    return {key: _value(value) for key, value in parsed}


def stored_metadata(pairs: list[str] | None) -> dict[str, JSON]:
    """Metadata to store, from ``KEY=VALUE``.

    Raises InputError for what is a condition when searching, and for a key that is given twice.
    """
    stored: dict[str, JSON] = {}
    for pair in pairs or ():
        [(key, value)] = metadata([pair]).items()
        if key.endswith(_SIGN_ENDS) or _is_condition(value):
            raise InputError(
                f"--meta {_cut(pair)!r} is a condition, which is for searching; give KEY=VALUE, "
                "with a key that ends in none of <, > and !"
            )
        if key in stored:
            raise InputError(f"--meta gives {key!r} twice; give it once, such as {key}='[1, 2]'")
        stored[key] = value
    return stored


def _is_condition(value: JSON) -> TypeGuard[dict[str, JSON]]:
    return isinstance(value, dict) and any(name.startswith("$") for name in value)


def _typed_path(source: str) -> str | None:
    """The file or folder that is meant in the current folder, as a source, if it is there."""
    if not is_there(source):
        return None
    path = Path(source).resolve()
    return f"{path}/" if path.is_dir() else str(path)


def _typed_part(memory: Memory, source: str) -> str | None:
    """The source of a part of a document that is there, such as ``papers/lease.pdf#2``."""
    document, sign, place = source.rpartition("#")  # there is no such sign in a place
    path = _typed_path(document) if document else None
    if path is None or path.endswith("/"):
        return None
    # Parts of a folder's documents are called after the folder; only the file has this path.
    sources = (entry.source for entry in memory.entries(source=path))
    return next((name for name in sources if name.endswith(f"{sign}{place}")), None)


def is_there(path: str | Path) -> bool:
    """Whether there is a file or folder of that name; a text that can be none is not there."""
    try:
        return Path(path).exists()
    except (OSError, ValueError):  # too long for a name, or with a NUL in it
        return False


_CONDITION = re.compile(r"(?P<key>[^=!<>]+)(?P<sign>!=|>=|<=|>|<)(?P<value>.*)", re.DOTALL)
SHOWN_CHARS = 80
_LIKE_JSON = ("{", "[", '"')
_SIGN_ENDS = ("<", ">", "!")  # of a key that is read up to the "=" of a sign
_SIGNS = {"!=": "$not", ">": "$gt", ">=": "$gte", "<": "$lt", "<=": "$lte"}


def _conditions(pairs: list[str]) -> dict[str, JSON]:
    """Values and conditions by key. Several conditions on one key must all hold.

    Raises InputError where one of them would be lost.
    """
    by_key: dict[str, JSON] = {}
    for pair in pairs:
        key, wanted = _wanted(pair)
        before = by_key.get(key, {})
        if key not in by_key:
            by_key[key] = wanted
        elif _is_condition(before) and _is_condition(wanted) and not before.keys() & wanted.keys():
            by_key[key] = before | wanted
        else:
            raise InputError(
                f"--meta {_cut(pair)!r} cannot be joined with what is given for {key!r} before; "
                f"give one of both, or several values as {key}='{{\"$in\": [7, 8]}}'"
            )
    return by_key


def _wanted(pair: str) -> tuple[str, JSON]:
    """The key of a filter with the value or the condition."""
    match = _CONDITION.fullmatch(pair)
    if match is not None:
        return match["key"], {_SIGNS[match["sign"]]: _value(match["value"])}
    [(key, value)] = metadata([pair]).items()
    return key, value


def _pair(text: str, option: str, form: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise InputError(f"{option} {text!r}; give {form}")
    return key, value


def _value(text: str) -> JSON:
    try:
        value: JSON = json.loads(text)
    except (ValueError, RecursionError) as error:
        # Taken as text, a condition with a slip of the pen would find nothing and say nothing.
        if text.lstrip().startswith(_LIKE_JSON):
            shown = _cut(text)
            reason = "it is too deep" if isinstance(error, RecursionError) else _reason(error)
            raise InputError(
                f"--meta: the value {shown!r} begins like JSON and is none: {reason}; mend it, or "
                f"write a text that begins so as JSON: {json.dumps(shown, ensure_ascii=False)}"
            ) from error
        return text
    return value


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…"


def _reason(error: ValueError) -> str:
    return error.msg if isinstance(error, json.JSONDecodeError) else "a number is too long"


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise InputError(f"--alpha {text!r} is not a number; give one such as 0.5") from error


def command(app: typer.Typer, **settings: Any) -> Callable[[Callable[..., None]], None]:
    """Register a function as a command of ``app``, its groups of options spelled out.

    ``settings`` are those of typer's ``command``.
    """

    def register(function: Callable[..., None]) -> None:
        app.command(**settings)(spelled_out(function))

    return register


_GROUPS: dict[object, type[Any]] = {
    Filters: Filters,
    RankingOptions: RankingOptions,
    EntryOptions: EntryOptions,
    Globals: Globals,
    Run: Globals,
}


Group = TypeVar("Group", bound=type[Any])


def option_group(group: Group) -> Group:
    """Let commands take a frozen dataclass of options as one parameter."""
    _GROUPS[group] = group
    return group


def options_of(method: Callable[..., Any], *names: str) -> Any:
    """The group of options for these parameters of an operation: its types, defaults and help."""
    hints = get_type_hints(method)
    parameters = signature(method).parameters
    options = [
        (name, Annotated[hints[name], _option(name, hints[name])], parameters[name].default)
        for name in names
    ]
    made = [(name, kind, field(default=default)) for name, kind, default in options]
    return option_group(make_dataclass(method.__name__, made, frozen=True))


def _option(name: str, hint: object) -> Any:
    flag = (f"--{name.replace('_', '-')}",) if hint is bool else ()  # without its --no- form
    return typer.Option(*flag, help=parameter_help(name))


def spelled_out(function: Callable[..., None]) -> Callable[..., None]:
    """The function in the form that typer needs: a parameter for each option, and the context."""
    hints = get_type_hints(function, include_extras=True)
    hints.pop("return", None)
    groups = sorted((name for name in hints if hints[name] in _GROUPS), key=_order(hints))
    own = [
        parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=hints[parameter.name])
        for parameter in signature(function).parameters.values()
        if parameter.name not in groups and parameter.name != "ctx"
    ]
    own_names = {parameter.name for parameter in own}
    shared = [
        parameter
        for name in groups
        for parameter in _parameters(_GROUPS[hints[name]])
        if parameter.name not in own_names  # else the command has a form of its own for it
    ]

    def call(ctx: typer.Context, **given: Any) -> None:
        own_values = {name: given.pop(name) for name in own_names}
        taken = {name: _take(_GROUPS[hints[name]], given) for name in groups}
        if "run" in taken:
            taken["run"] = run_of(taken["run"].over(ctx.find_object(Globals) or Globals()))
        if "ctx" in hints:
            taken["ctx"] = ctx
        function(**taken, **own_values)

    context = Parameter("ctx", Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    parameters = [context, *own, *shared]
    call.__name__, call.__doc__ = function.__name__, function.__doc__
    call.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return call


def _order(hints: Mapping[str, object]) -> Callable[[str], int]:
    # Options that every command has are last: they matter least in its help.
    places = {kind: place for place, kind in enumerate(sorted(_GROUPS, key=_is_everywhere))}
    return lambda name: places[hints[name]]


def _is_everywhere(kind: object) -> bool:
    return kind in (Globals, Run)


def option_names(group: type[Any]) -> tuple[str, ...]:
    """The names of a group's options, as Python has them."""
    return tuple(option.name for option in fields(group))


def _parameters(group: type[Any]) -> list[Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        Parameter(
            option.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if option.default is MISSING else option.default,
            annotation=hints[option.name],
        )
        for option in fields(group)
    ]


def _take(group: type[Any], given: dict[str, Any]) -> Any:
    """The group made of its options, which are taken out of ``given``."""
    names = (option.name for option in fields(group))
    return group(**{name: given.pop(name) for name in names if name in given})
