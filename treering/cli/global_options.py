"""The options that every command has: which memory, which models, and how it prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated

import typer

from treering.cli.run import Run

_EVERYWHERE = "Options of every command"


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
            "Default: $TREERING_SPACE. In your own memory, and for agents in any: the project of "
            "the current folder, by its git remote or path. Otherwise: 'default'.",
            rich_help_panel=_EVERYWHERE,
        ),
    ] = None
    embedder: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="Embedding model: minilm, openai:MODEL@BASE_URL, fastembed:MODEL or "
            "sentence-transformers:MODEL. "
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
        """These options; one that is not given is taken from those before the command's name.

        Raises BadParameter for an empty one: the default in its place might be another memory.
        """
        for option in _GLOBALS:
            if getattr(self, option.name) == "":
                raise typer.BadParameter(
                    "it is empty; give a value, or leave the option out for the default",
                    param_hint=f"--{option.name}",
                )
        merged = {
            option.name: getattr(self, option.name) or getattr(outer, option.name)
            for option in _GLOBALS
        }
        return Globals(**merged)


_GLOBALS = fields(Globals)


def run_of(options: Globals) -> Run:
    """The run that the options of every command mean."""
    return Run.of(
        memory=options.memory,
        space=options.space,
        embedder=options.embedder,
        llm=options.llm,
        as_json=options.as_json,
    )


def run_of_group(ctx: typer.Context, options: Globals) -> Run | None:
    """The run of a group that is called as a command; None where one of its commands follows.

    That command takes over what is given before its name.
    """
    chosen = ctx.obj = options.over(ctx.find_object(Globals) or Globals())
    return None if ctx.invoked_subcommand is not None else run_of(chosen)


def environment(values: Mapping[str, str]) -> Globals:
    """The options of every command that environment variables set."""
    return Globals(
        memory=values.get("TREERING_MEMORY") or None,
        space=values.get("TREERING_SPACE") or None,
        embedder=values.get("TREERING_EMBEDDER") or None,
    )
