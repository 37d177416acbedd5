"""How a function becomes a command: plain parameters, the help of each, and groups that are shared.

    @command(commands, whole="Show the whole text of each hit.")
    def search(run: Run, query: Text, where: Filters, whole: bool = False) -> None: ...

Parameters with a default are options. ``run`` brings those of every command: which memory, which
models, and ``--json``. Help that is not given here is that of the operation's parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import MISSING, dataclass, field, fields, make_dataclass
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, Final, TypeVar, get_args, get_origin, get_type_hints

import typer
from typer.models import ArgumentInfo, OptionInfo

from treering.cli import stdin
from treering.cli.moments import FORMS, FORMS_TO_COME, moment
from treering.cli.run import Globals, Run
from treering.cli.subapps import Command
from treering.parameters import parameter_help
from treering.views.choices import settings_by_name

Help = Mapping[str, Any]
"""The help of parameters by name: a text, or a result of ``opt``."""


def opt(text: str, *flags: str, **settings: Any) -> tuple[str, tuple[str, ...], dict[str, Any]]:
    """Return the help of an option with its flags, or with settings that typer has for it."""
    return text, flags, settings


def _moment(value: str | None) -> str | None:
    return moment(value)


def _moment_to_come(value: str | None) -> str | None:
    return moment(value, forms=FORMS_TO_COME)


Moment = Annotated[str | None, typer.Option(metavar="TIME", callback=_moment)]
MomentToCome = Annotated[str | None, typer.Option(metavar="TIME", callback=_moment_to_come)]
"""Options for times; words such as "yesterday" become ISO 8601."""

Text = Annotated[str, typer.Argument(callback=stdin.argument)]
"""An argument that is read from standard input if it is ``-``."""

SHARED: Final[Help] = {
    "as_of": f"As it was known at this time: {FORMS}.",
    "dry_run": "Show what would change; change nothing.",
    "entry_id": opt("The entry.", metavar="ID"),
    "explain": "Show the terms that each score is the sum of.",
    "force": "Overwrite the file.",
    "k": opt("How many at most.", "--k", "-k", min=1),
    "memo_id": opt("The memo's id, as it is listed.", metavar="ID"),
    "query": "The query, or - for standard input.",
    "since": f"Only from this time on: {FORMS}.",
    "source": "Only from this source.",
    "summary": "The new summary.",
    "topic": "The new topic.",
    "until": "Only before this time.",
    "yes": opt("Do not ask; needed without a terminal.", "--yes", "-y"),
}
"""Help of parameters that several commands have."""


@dataclass(frozen=True, slots=True)
class _Group:
    """Options that commands take as one parameter: their class, its help and its panel."""

    kind: type[Any]
    help: Help = field(default_factory=dict)
    panel: str | None = None


_GROUPS: dict[object, _Group] = {}

Kind = TypeVar("Kind", bound=type[Any])


def option_group(kind: Kind, panel: str | None = None, /, **texts: Any) -> Kind:
    """Let commands take a dataclass of options as one parameter."""
    _GROUPS[kind] = _Group(kind, texts, panel)
    return kind


option_group(
    Globals,
    "Options of every command",
    memory=opt(
        "The memory's file or URL. Default: $TREERING_MEMORY, else a treering.db in "
        "the current folder, else your own, memory.db in your data folder.",
        "--memory",
        "-m",
        metavar="PATH",
    ),
    space=opt(
        "The space: spaces of one file never see each other. Default: $TREERING_SPACE. In your own "
        "memory, and in any memory that an agent uses: the project of the current folder, by its "
        "git remote or path. Otherwise: 'default'.",
        metavar="NAME",
    ),
    embedder=opt(
        "Embedding model: minilm, openai:MODEL@BASE_URL or fastembed:MODEL. Default: "
        "$TREERING_EMBEDDER, else the space's own.",
        metavar="SPEC",
    ),
    llm=opt(
        "Language model: http://HOST:PORT/v1#MODEL, FILE.gguf, or none. Default: from the "
        "variables TREERING_LLM_*.",
        metavar="SPEC",
    ),
    as_json=opt("Print JSON, one object a line, and nothing else on stdout.", "--json"),
)
_GROUPS[Run] = _GROUPS[Globals]


def options_of(method: Callable[..., Any], *names: str, **texts: Any) -> Any:
    """Return the group of options for these parameters of an operation."""
    hints = get_type_hints(method)
    parameters = signature(method).parameters
    options = [(name, hints[name], field(default=parameters[name].default)) for name in names]
    return option_group(make_dataclass(method.__name__, options, frozen=True), **texts)


def settings_group() -> Any:
    """Return a group with an option for each setting of a space, by default None."""
    names = settings_by_name()
    options = [(name, kind | None, field(default=None)) for name, (kind, _) in names.items()]
    texts = {
        name: opt(
            setting.help,
            *(("--k", "-k") if name == "k" else ()),
            metavar=setting.metavar,
            min=setting.least,
            max=setting.most,
        )
        for name, (_, setting) in names.items()
    }
    return option_group(make_dataclass("Choices", options, frozen=True), **texts)


def command(
    app: typer.Typer, called: str | None = None, /, **texts: Any
) -> Callable[[Callable[..., None]], None]:
    """Register a function as a command of ``app``, by its own name unless it is ``called``."""

    def register(function: Callable[..., None]) -> None:
        app.command(called, cls=Command)(for_typer(function, texts))

    return register


def group(app: typer.Typer, /, **texts: Any) -> Callable[[Callable[..., None]], None]:
    """Let ``app`` be a command itself, besides those that it has.

    Options before the name of one of those hold for it.
    """

    def register(function: Callable[..., None]) -> None:
        app.callback(invoke_without_command=True)(for_typer(function, texts))

    return register


def option_names(kind: type[Any]) -> tuple[str, ...]:
    """Return the names of a group's options in Python."""
    return tuple(option.name for option in fields(kind))


def for_typer(function: Callable[..., None], texts: Help) -> Callable[..., None]:
    """Return the function in the form that typer needs, with a parameter for each option."""
    hints = get_type_hints(function, include_extras=True)
    hints.pop("return", None)
    groups = {name: _GROUPS[hint] for name, hint in hints.items() if hint in _GROUPS}
    own = [
        _parameter(parameter.name, hints[parameter.name], parameter.default, texts)
        for parameter in signature(function).parameters.values()
        if parameter.name not in groups and parameter.name != "ctx"
    ]
    own_names = {parameter.name for parameter in own}
    # Options of every command come last: they matter least in the help.
    shared = [
        parameter
        for one in sorted(groups.values(), key=lambda one: one.kind is Globals)
        for parameter in _group_parameters(one)
        if parameter.name not in own_names  # else the command has a form of its own for it
    ]

    def call(ctx: typer.Context, **given: Any) -> None:
        own_values = {name: given.pop(name) for name in own_names}
        taken = {name: _take(one.kind, given) for name, one in groups.items()}
        if "run" in taken:
            chosen = taken["run"].over(ctx.find_object(Globals) or Globals())
            if ctx.invoked_subcommand is not None:
                ctx.obj = chosen  # one of the group's commands follows
                return
            taken["run"] = Run.from_options(chosen)
        if "ctx" in hints:
            taken["ctx"] = ctx
        function(**taken, **own_values)

    context = Parameter("ctx", Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    parameters = [context, *own, *shared]
    call.__name__, call.__doc__ = function.__name__, _help_text(function.__doc__)
    call.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return call


def _help_text(docstring: str | None) -> str:
    """Return a docstring with a line for each paragraph: a terminal has lines of its own width."""
    return "\n\n".join(" ".join(part.split()) for part in (docstring or "").split("\n\n"))


def _group_parameters(one: _Group) -> list[Parameter]:
    hints = get_type_hints(one.kind, include_extras=True)
    return [
        _parameter(
            option.name,
            hints[option.name],
            Parameter.empty if option.default is MISSING else option.default,
            one.help,
            one.panel,
        )
        for option in fields(one.kind)
    ]


def _parameter(
    name: str, hint: Any, default: Any, texts: Help, panel: str | None = None
) -> Parameter:
    """Return a parameter whose annotation says all that typer wants to know."""
    row = texts.get(name) or SHARED.get(name) or parameter_help(name)
    text, flags, settings = row if isinstance(row, tuple) else (row, (), {})
    plain, *given = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    info = next((copy(one) for one in given if isinstance(one, ArgumentInfo | OptionInfo)), None)
    if info is None:
        info = typer.Argument() if default is Parameter.empty else typer.Option()
    info.help = info.help or text
    for setting, value in settings.items():
        setattr(info, setting, value)
    if isinstance(info, OptionInfo):
        info.rich_help_panel = panel
        if flags or (plain is bool and not info.param_decls):  # without its --no- form
            info.param_decls = flags or (f"--{name.strip('_').replace('_', '-')}",)
        elif name.endswith("_"):
            info.param_decls = (f"--{name.strip('_')}",)
    return Parameter(
        name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[plain, info]
    )


def _take(kind: type[Any], given: dict[str, Any]) -> Any:
    """Return the group made of its options, which are taken out of ``given``."""
    return kind(**{name: given.pop(name) for name in option_names(kind) if name in given})
