"""The options that commands share, each written once, and how a command takes them in.

A command asks for a group of options by a parameter with the group's type:

    @command(commands)
    def search(run: Run, query: Query, where: Filters) -> None: ...

``run`` brings the options that every command has: which memory, which models, and ``--json``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, Literal, get_type_hints

import typer

from treering.cli.run import Run
from treering.errors import InputError
from treering.records import JSON, Kind

_EVERYWHERE = "Options of every command"
_FILTERS = "Filters (all that are given must hold)"
_RANKING = "Ranking"

NO_RELATION = "none"


@dataclass(frozen=True, slots=True)
class Globals:
    """Options of every command; they may stand before or after its name."""

    memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            "-m",
            metavar="PATH",
            help="The memory's file, or a sqlite:/// URL. "
            "Default: $TREERING_MEMORY, else a treering.db in the current folder, else your own, "
            "memory.db in your data folder.",
            rich_help_panel=_EVERYWHERE,
        ),
    ] = None
    space: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Whose memory: spaces of one file never see each other. "
            "Default: $TREERING_SPACE, else in your own memory the project of the current folder, "
            "by its git remote or root, else 'default'.",
            rich_help_panel=_EVERYWHERE,
        ),
    ] = None
    embedder: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="Embedding model: minilm, openai:MODEL@BASE_URL or sentence-transformers:MODEL. "
            "Default: $TREERING_EMBEDDER, else what the space was built with.",
            rich_help_panel=_EVERYWHERE,
        ),
    ] = None
    llm: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="Language model: http://HOST:PORT/v1#MODEL, FILE.gguf, or none. "
            "Default: from the variables TREERING_LLM_*.",
            rich_help_panel=_EVERYWHERE,
        ),
    ] = None
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print JSON, one object a line, and nothing else on stdout.",
            rich_help_panel=_EVERYWHERE,
        ),
    ] = False

    def over(self, outer: Globals) -> Globals:
        """These options, with those given before the command's name where these are not given."""
        merged = {one.name: getattr(self, one.name) or getattr(outer, one.name) for one in _GLOBALS}
        return Globals(**merged)


_GLOBALS = fields(Globals)


@dataclass(frozen=True, slots=True)
class Filters:
    """Which entries are meant."""

    source: Annotated[
        str | None, typer.Option(help="Only from this source.", rich_help_panel=_FILTERS)
    ] = None
    speaker: Annotated[
        str | None, typer.Option(help="Only what this person said.", rich_help_panel=_FILTERS)
    ] = None
    session: Annotated[
        str | None, typer.Option(help="Only of this session.", rich_help_panel=_FILTERS)
    ] = None
    kind: Annotated[
        Kind | None, typer.Option(help="Only content of this kind.", rich_help_panel=_FILTERS)
    ] = None
    since: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Only from then on: ISO 8601.", rich_help_panel=_FILTERS),
    ] = None
    until: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Only before then: ISO 8601.", rich_help_panel=_FILTERS),
    ] = None
    meta: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="Only with this metadata; may be repeated. A value is read as JSON if it is "
            "some: 7 is a number, '\"7\"' a text.",
            rich_help_panel=_FILTERS,
        ),
    ] = None

    def where(self) -> dict[str, Any]:
        """The filters that are given, as ``Memory`` takes them."""
        plain = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "meta"}
        given = {key: value for key, value in plain.items() if value is not None}
        return given | ({"metadata": metadata(self.meta)} if self.meta else {})


@dataclass(frozen=True, slots=True)
class Ranking:
    """How candidates are scored."""

    mode: Annotated[
        Literal["hybrid", "lexical", "dense"],
        typer.Option(help="Own score: BM25 and cosine, BM25, or cosine.", rich_help_panel=_RANKING),
    ] = "hybrid"
    relation: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Add what related fragments score: context, time, semantic, session, speaker, "
            "topic or tree; may be repeated; 'none' for plain search. Default: what suits each "
            "kind of content.",
            rich_help_panel=_RANKING,
        ),
    ] = None
    alpha: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WEIGHT",
            help="Weight of the relations: a number for all, or NAME=NUMBER; may be repeated.",
            rich_help_panel=_RANKING,
        ),
    ] = None

    min_confidence: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=1.0,
            metavar="0..1",
            help="Nothing that is less sure to answer; 0.05 leaves out most that does not.",
            rich_help_panel=_RANKING,
        ),
    ] = 0.0

    def chosen(self) -> dict[str, Any]:
        """The choice as ``Memory`` takes it. Raises InputError."""
        return {
            "mode": self.mode,
            "relations": self._relations(),
            "alpha": self._alpha(),
            "min_confidence": self.min_confidence,
        }

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
        pairs = (_pair(one, "--alpha", "NAME=NUMBER") for one in self.alpha)
        return {name: _number(value) for name, value in pairs}


def metadata(pairs: list[str] | None) -> dict[str, JSON]:
    """Metadata from ``KEY=VALUE``; a value is JSON if it can be read as such, else text."""
    found = (_pair(one, "--meta", "KEY=VALUE") for one in pairs or ())
    return {key: _value(value) for key, value in found}


def _pair(text: str, option: str, form: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise InputError(f"{option} {text!r}; give {form}")
    return key, value


def _value(text: str) -> JSON:
    try:
        found: JSON = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return found


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
    Ranking: Ranking,
    Globals: Globals,
    Run: Globals,  # last: options that every command has matter least in its help
}


def spelled_out(function: Callable[..., None]) -> Callable[..., None]:
    """The function as typer wants to see it: one parameter an option, and the context."""
    hints = get_type_hints(function, include_extras=True)
    hints.pop("return", None)
    wanted = sorted((name for name in hints if hints[name] in _GROUPS), key=_order(hints))
    own = [
        one.replace(kind=Parameter.KEYWORD_ONLY, annotation=hints[one.name])
        for one in signature(function).parameters.values()
        if one.name not in wanted and one.name != "ctx"
    ]
    shared = [one for name in wanted for one in _parameters(_GROUPS[hints[name]])]

    def call(ctx: typer.Context, **given: Any) -> None:
        taken = {name: _take(_GROUPS[hints[name]], given) for name in wanted}
        if "run" in taken:
            taken["run"] = run_of(taken["run"].over(ctx.find_object(Globals) or Globals()))
        if "ctx" in hints:
            taken["ctx"] = ctx
        function(**taken, **given)

    context = Parameter("ctx", Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    parameters = [context, *own, *shared]
    call.__name__, call.__doc__ = function.__name__, function.__doc__
    call.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {one.name: one.annotation for one in parameters}
    return call


def _order(hints: Mapping[str, object]) -> Callable[[str], int]:
    places = {kind: place for place, kind in enumerate(_GROUPS)}
    return lambda name: places[hints[name]]


def option_names(group: type[Any]) -> tuple[str, ...]:
    """The names of a group's options, as Python has them."""
    return tuple(one.name for one in fields(group))


def _parameters(group: type[Any]) -> list[Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        Parameter(one.name, Parameter.KEYWORD_ONLY, default=one.default, annotation=hints[one.name])
        for one in fields(group)
    ]


def _take(group: type[Any], given: dict[str, Any]) -> Any:
    """The group made of its options, which are taken out of ``given``."""
    return group(**{one.name: given.pop(one.name) for one in fields(group)})


def run_of(options: Globals) -> Run:
    """The run that the options of every command mean."""
    return Run.of(
        memory=options.memory,
        space=options.space,
        embedder=options.embedder,
        llm=options.llm,
        as_json=options.as_json,
    )


def environment(values: Mapping[str, str]) -> Globals:
    """What environment variables say about the options of every command."""
    return Globals(
        memory=values.get("TREERING_MEMORY") or None,
        space=values.get("TREERING_SPACE") or None,
        embedder=values.get("TREERING_EMBEDDER") or None,
    )
