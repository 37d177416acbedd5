"""``treering configure``: the settings of a space, and presets that set them all."""

from __future__ import annotations

from dataclasses import asdict, field, make_dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treering.cli.options import command, option_group
from treering.cli.output import note
from treering.cli.run import Run
from treering.views.choices import settings_by_name

commands = typer.Typer()


def _options() -> list[tuple[str, Any, Any]]:
    """A field for each setting, None for one that stays."""
    options = []
    for name, (kind, setting) in settings_by_name().items():
        option: Any = typer.Option(
            *(("--k", "-k") if name == "k" else ()),
            metavar=setting.metavar,
            help=setting.help,
            min=setting.least,
            max=setting.most,
        )
        options.append((name, Annotated[kind | None, option], field(default=None)))
    return options


if TYPE_CHECKING:
    Choices = Any
else:
    Choices = option_group(make_dataclass("Choices", _options(), frozen=True))


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
    named = asdict(settings)
    width = max(map(len, named))
    rows = (f"{name:<{width}} {_shown(value)}\n" for name, value in named.items())
    run.out.emit(settings, *rows)
    if outdated:
        note(f"by other settings than these: {', '.join(outdated)}; `treering settle` derives anew")


def _shown(value: object) -> str:
    if not isinstance(value, dict):
        return "default" if value is None else str(value)
    return "; ".join(f"{name} {_listed(part)}" for name, part in value.items())


def _listed(value: object) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{name} {part}" for name, part in value.items())
    return (", ".join(value) or "none") if isinstance(value, tuple) else str(value)
