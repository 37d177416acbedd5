"""The options that commands share, and how a command shows progress and figures."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from treering.cli.options import option_group
from treering.embed.registry import DEFAULT as EMBEDDER
from treering.errors import InputError
from treering.views.choices import Wording
from treering_bench.read import sha256_of
from treering_bench.results import this_run, with_header

REPLIES = Path("results") / "replies.jsonl"
"""Where the replies of models are kept, if no file is named."""

log = Console(stderr=True)

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object only.")]
DataPath = Annotated[Path, typer.Option("--data", help="The benchmark's file or folder.")]
EmbedderName = Annotated[str, typer.Option(metavar="SPEC", help="The embedding model.")]
Seed = Annotated[int, typer.Option(help="For everything that is drawn.")]
RepliesPath = Annotated[
    Path, typer.Option(help="Where replies are kept: a request in it is not asked again.")
]
MinutesLimit = Annotated[
    float | None,
    typer.Option(
        min=0.0, help="Stop asking models after so many minutes. Run the command again to go on."
    ),
]
PromptWording = Annotated[Wording, typer.Option(help="Of the prompt: treering's or the paper's.")]


@option_group
@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of ``run``. Each kind of benchmark takes some of them."""

    data: DataPath
    policy: Annotated[
        list[str] | None,
        typer.Option(help="A policy; may be repeated. benchmarks/README.md lists them."),
    ] = None
    out: Annotated[Path | None, typer.Option(help="Results file; continued if there.")] = None
    limit: Annotated[
        int | None, typer.Option(min=1, help="The first so many questions, tasks or rows.")
    ] = None
    sample: Annotated[
        int | None, typer.Option(min=1, help="So many of them, drawn from all by the seed.")
    ] = None
    llm: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC", help="Answer with this model: http://HOST/v1#MODEL or FILE.gguf."
        ),
    ] = None
    judge: Annotated[
        str | None, typer.Option(metavar="SPEC", help="Judge the answers with this model.")
    ] = None
    summaries: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC", help="Write the memory's summaries, memos and ratings with this model."
        ),
    ] = None
    replies: Annotated[
        Path | None,
        typer.Option(help="Where the replies of models are kept. Default: beside the results."),
    ] = None
    minutes: MinutesLimit = None
    budget: Annotated[
        int | None, typer.Option(min=1, help="Tokens of context, or of a whole prompt of code.")
    ] = None
    words: Annotated[bool, typer.Option("--words", help="The budget counts words.")] = False
    temperature: Annotated[float | None, typer.Option(min=0.0, help="Of the answering model.")] = (
        None
    )
    preset: Annotated[
        str | None,
        typer.Option(help="Use all values given in a paper; see `treering configure`."),
    ] = None
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A setting on top of the preset: k=3, tree_base=0.2, "
            'fragment="512 tokens"; may be repeated.',
        ),
    ] = None
    sources: Annotated[
        Path | None,
        typer.Option(help="Of a benchmark of code: a folder a project. Default: beside --data."),
    ] = None
    site: Annotated[
        list[Path] | None,
        typer.Option(help="A folder with packages that a project needs; may be repeated."),
    ] = None
    rounds: Annotated[
        int | None, typer.Option(min=1, help="The first so many rounds of a dialogue about code.")
    ] = None
    feedback: Annotated[
        bool,
        typer.Option("--feedback", help="Play CoderEval: say that an answer is incorrect."),
    ] = False
    raw: Annotated[
        bool,
        typer.Option("--raw", help="A base model goes on with code: llama.cpp's address as --llm."),
    ] = False
    adapter: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also ask with this adapter of `treering tune memos`."),
    ] = None
    wording: PromptWording = "plain"
    shown: Annotated[
        bool, typer.Option("--shown", help="Also save the passages that were shown.")
    ] = False
    seed: Seed = 0
    embedder: EmbedderName = EMBEDDER

    @property
    def settings(self) -> dict[str, Any]:
        """The settings on top of the preset, by name; a value is read as JSON if it can be."""
        return dict(map(_setting, self.setting or ()))

    def refuse_all_but(self, what: str, used: Collection[str]) -> None:
        """Raise InputError for an option that this run has no use for."""
        common = {"data", "policy", "out", "limit", "sample", "seed"}
        for option in fields(self):
            given = getattr(self, option.name) != option.default
            if given and option.name not in {*common, *used}:
                name = "set" if option.name == "setting" else option.name
                raise InputError(f"{what} has no use for --{name}; leave it out")


def _setting(given: str) -> tuple[str, Any]:
    name, is_there, value = given.partition("=")
    if not is_there:
        raise InputError(f"--set {given!r} is not of the form NAME=VALUE, such as k=3")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


@option_group
@dataclass(frozen=True, slots=True)
class FigureOptions:
    """How the figures of a measurement are printed and saved."""

    out: Annotated[
        Path | None, typer.Option(help="Also save the figures here, as one JSON object.")
    ] = None
    as_json: AsJson = False

    def show(
        self,
        benchmark: str,
        figures: Mapping[str, Any],
        data: Path | None = None,
        settings: Mapping[str, Any] | None = None,
        table: str = "",
    ) -> None:
        """Print a table, if there is one, and then the figures as one JSON object.

        The object names commit, machine, settings and the checksum of the data. It is on one line
        under ``--json`` and after a table, else spread over several for a reader.
        """
        run = this_run(benchmark, sha256_of(data) if data else "", 0, settings or {})
        printed = with_header(run, figures)
        if table and not self.as_json:
            typer.echo(f"{table}\n")
        indent = None if self.as_json or table else 2
        typer.echo(json.dumps(printed, indent=indent, ensure_ascii=False))
        if self.out:
            self.out.parent.mkdir(parents=True, exist_ok=True)
            self.out.write_text(json.dumps(printed, ensure_ascii=False) + "\n", encoding="utf-8")


def chosen_among(names: list[str], allowed: Mapping[str, Any] | tuple[str, ...]) -> tuple[str, ...]:
    """The names of an option that may be repeated. Raise InputError for others."""
    strange = [name for name in names if name not in allowed]
    if strange:
        raise InputError(f"no {strange[0]!r} to measure; there are {', '.join(allowed)}")
    return tuple(dict.fromkeys(names))


@contextmanager
def progress_bar(name: str) -> Iterator[Any]:
    """A bar on stderr, moved by a call with done, total, and the current work."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=log, transient=True) as bar:
        line = bar.add_task(name, total=None)

        def show(done: int, total: int, doing: str) -> None:
            bar.update(line, completed=done, total=total, description=f"{name}: {doing}")

        yield show
