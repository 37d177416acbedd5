"""``treering configure``: the settings of a space, and presets that set them all."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Literal

import typer

from treering.chat import PolicyName
from treering.cli.options import command, option_group
from treering.cli.output import note
from treering.cli.run import Run
from treering.records import Level
from treering.views.code.write.choices import ContextName, DetectorName, JudgeName

commands = typer.Typer()


@option_group
@dataclass(frozen=True, slots=True)
class Choices:
    """The settings of a space, as ``Memory.configure`` takes them; None for one that stays."""

    fragment: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="The most of a fragment of text, such as '500 words'."),
    ] = None
    mode: Annotated[
        Literal["hybrid", "lexical", "dense"] | None,
        typer.Option(help="How search scores a text itself."),
    ] = None
    level: Annotated[
        Level | None, typer.Option(help="Whether search finds texts, summaries, or all.")
    ] = None
    k: Annotated[int | None, typer.Option("--k", "-k", min=1, help="Hits of a search.")] = None
    chat_unit: Annotated[
        Literal["messages", "rounds"] | None,
        typer.Option(help="What search ranks of chats: messages, or each with its replies."),
    ] = None
    policy: Annotated[
        PolicyName | None, typer.Option(help="What a chat shows the model besides the message.")
    ] = None
    wording: Annotated[
        Literal["plain", "mended", "printed"] | None,
        typer.Option(help="The prompt that memos are written by."),
    ] = None
    noto: Annotated[
        Literal["first", "random"] | None,
        typer.Option(help='Where "None of the others" stands when a model chooses memos.'),
    ] = None
    judge: Annotated[
        JudgeName | None, typer.Option(help="What decides whether a round is shown more code.")
    ] = None
    detector: Annotated[
        DetectorName | None, typer.Option(help="What tells what a draft of code undoes.")
    ] = None
    context: Annotated[
        ContextName | None, typer.Option(help="The context memory of rounds, or parts of it.")
    ] = None
    alike: Annotated[
        str | None,
        typer.Option(
            metavar="TAU",
            help="Instructions of one intent: a cosine, or a share of pairs, 99%.",
        ),
    ] = None
    block_alpha: Annotated[
        float | None,
        typer.Option(min=0.0, help="The code relation's weight in what rounds are shown."),
    ] = None
    unit: Annotated[
        Literal["blocks", "windows"] | None,
        typer.Option(help="How the files of a repository are cut when first indexed."),
    ] = None


@command(commands)
def configure(
    run: Run,
    choices: Choices,
    preset: Annotated[
        str | None,
        typer.Argument(
            help="Everything as a paper prints it: fragrel-a-story, fragrel-b-story, fragrel-chat, "
            "fragrel-code, memtree, memtree-story, memtree-chat, memochat, codemem; or as it was, "
            "default."
        ),
    ] = None,
) -> None:
    """Set what commands do in this space that are not told otherwise; show all its settings."""
    from treering.views.presets import preset_of  # it brings what measures, which help needs not

    if preset is not None:
        preset_of(preset)  # raises before a file is made for it
    with run.memory(create=preset is not None) as memory:
        settings = memory.configure(preset, **asdict(choices))
        outdated = memory.stats().outdated
    rows = (f"{name:<10} {_shown(value)}\n" for name, value in asdict(settings).items())
    run.out.emit(settings, *rows)
    if outdated:
        note(f"by other settings than these: {', '.join(outdated)}; `treering settle` derives anew")


def _shown(value: object) -> str:
    if not isinstance(value, dict):
        return str(value)
    return "; ".join(f"{name} {_listed(part)}" for name, part in value.items())


def _listed(value: object) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{name} {part}" for name, part in value.items())
    return (", ".join(value) or "none") if isinstance(value, tuple) else str(value)
