"""Tune a model on instruction rows, with checkpoints from which a killed run continues.

The order of the rows follows from the seed alone. A run that was killed sees the same rows in the
same order as one that was not.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Iterator, Sequence, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, TypeVar

import numpy as np

from treering import files
from treering.errors import InputError, TuningStopped
from treering.llm import processors
from treering.text import check_text

T = TypeVar("T")
S = TypeVar("S", bound=Sized)
Row = TypeVar("Row", contravariant=True)

WARM_UP: Final = 0.04
"""Of the steps, in which the learning rate rises (MemoChat, table 2)."""

MAX_TOKENS: Final = 2_048
"""Of a row, with its reply (MemoChat, table 2)."""

_MARK: Final = b"treering tuning 1\n"

_LIMITS: Final = {
    **dict.fromkeys(("epochs", "batch", "rank", "max_tokens", "save_every"), (1, math.inf)),
    **dict.fromkeys(("seed", "minutes"), (0, math.inf)),
    "rate": (1e-9, 1),
    "warm_up": (0, 1),
}
"""The least and the most of options."""

PromptAndReply = tuple[str, str]
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class TuneOptions:
    """How a model is tuned. ``batch`` is rows a step, ``rate`` the highest learning rate, to which
    it rises in the share ``warm_up`` of the steps.

    Rows of more than ``max_tokens`` are left out. A checkpoint is written after every
    ``save_every`` steps. After ``minutes`` the run stops; the same call goes on with it.
    """

    epochs: int = 1
    batch: int = 8
    rate: float = 5e-4
    rank: int = 16
    seed: int = 0
    max_tokens: int = MAX_TOKENS
    warm_up: float = WARM_UP
    save_every: int = 10
    minutes: float | None = None
    threads: int | None = None

    def __post_init__(self) -> None:
        for name, (least, most) in _LIMITS.items():
            value = getattr(self, name)
            if value is not None and not least <= value <= most:
                end = "" if math.isinf(most) else f" and at most {most:g}"
                raise InputError(
                    f"{name} is {value}; it must be at least {least:g}{end}", param=name
                )


@dataclass(frozen=True, slots=True)
class Tuned:
    """The result of a run: ``losses`` has the mean loss of each step so far, in nats a token."""

    rows: int
    left_out: int
    tokens: int
    steps: int
    of_steps: int
    losses: tuple[float, ...]


class Trainable(Protocol[Row]):
    """A learner of examples whose state can be stored."""

    def learn(self, examples: Sequence[Row], rate: float) -> float: ...  # noqa: D102
    def state(self) -> bytes: ...  # noqa: D102
    def restore(self, state: bytes) -> None: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A file with the progress of a tuning: a line of JSON, then the state of the learner."""

    path: Path
    of: str

    def load(self) -> tuple[list[float], bytes] | None:
        """Losses of the steps done, and the state; None if the file is missing.

        Raises InputError for another file, and for that of another tuning.
        """
        try:
            content = files.read_bytes(self.path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InputError(f"cannot read {str(self.path)!r} ({error.strerror})") from error
        header, _, state = content.removeprefix(_MARK).partition(b"\n")
        try:
            of, losses, digest = map(json.loads(header).get, ("of", "losses", "state"))
        except ValueError:
            of = losses = digest = None
        if not content.startswith(_MARK):
            reason = "no checkpoint"
        elif of is None or digest != hashlib.sha256(state).hexdigest():
            reason = "a damaged checkpoint"
        elif of != self.of:
            reason = "a checkpoint of another model, other rows or other options"
        else:
            return losses, state
        raise InputError(f"{str(self.path)!r} is {reason}; give another --checkpoint, or remove it")

    def save(self, losses: Sequence[float], state: bytes) -> None:
        """Replace the file, whole. Raises TuningStopped, with the one before still there."""
        fields = {"of": self.of, "losses": losses, "state": hashlib.sha256(state).hexdigest()}
        try:
            content = _MARK + json.dumps(fields).encode() + b"\n" + state
            files.replace_file(self.path, content, private=True)
        except InputError as error:
            raise TuningStopped(
                f"the tuning stopped after step {len(losses)}: {error}. The checkpoint before it "
                "is kept: make room and run the same again to go on from there"
            ) from error


def tune(
    model: Path,
    rows: Sequence[PromptAndReply],
    out: Path,
    checkpoint: Path,
    options: TuneOptions = TuneOptions(),
    progress: Progress | None = None,
) -> Tuned:
    """Train a LoRA adapter for the model in a GGUF file, and write it to ``out``.

    A checkpoint of the same tuning is gone on with. The adapter is written when all steps are
    done, or the time is up. Raises InputError, LLMNotConfigured for a model that cannot be tuned,
    TuningStopped for a disk that is full, MissingExtra.
    """
    if not rows:
        raise InputError("no rows to learn from")
    for row in rows:
        check_text("\n".join(row), "a row")
    refuse_places([out, checkpoint], [model])
    # Here, so that rows are made without the extra, and as PyTorch takes long to import.
    from treering.tune.adapter import model_facts, write_adapter

    facts = model_facts(model)
    from treering.tune.learner import Learner

    place = Checkpoint(checkpoint, _fingerprint(model, rows, options))
    place.load()  # before the model is loaded, which takes longer than to see a mistake
    threads = options.threads or processors.usable_processors()
    learner = Learner(model, options.rank, options.rate, options.seed, threads)
    examples = [learner.example(*row) for row in rows]
    fitting = [example for example in examples if len(example) <= options.max_tokens]
    if not fitting:
        raise InputError(f"every row has more than {options.max_tokens} tokens")
    losses = learn(learner, fitting, options, place, progress)
    try:
        write_adapter(out, facts, learner.changes(), learner.alpha)
    except InputError as error:
        raise TuningStopped(f"{error}; the checkpoint {checkpoint} has what was learned") from error
    left_out, tokens = len(rows) - len(fitting), sum(map(len, fitting))
    steps = _steps(len(fitting), options)
    return Tuned(len(fitting), left_out, tokens, len(losses), steps, tuple(losses))


def refuse_places(places: Sequence[Path], read: Sequence[Path]) -> None:
    """Raise InputError if a place to write to is a folder, is also read, or is named twice."""
    taken = {path.resolve() for path in read}
    for place in places:
        if place.is_dir():
            raise InputError(f"{str(place)!r} is a folder; name a file to be written")
        if place.resolve() in taken:
            raise InputError(
                f"{str(place)!r} would be written over what is read, or twice; name another file"
            )
        taken.add(place.resolve())


def learn(
    learner: Trainable[T],
    examples: Sequence[T],
    options: TuneOptions,
    place: Checkpoint,
    progress: Progress | None = None,
) -> list[float]:
    """Do the steps that the checkpoint has not, as far as the time is enough.

    Returns the loss of every step so far. Raises TuningStopped, InputError.
    """
    losses, state = place.load() or ([], None)
    if state is not None:
        learner.restore(state)
    end = math.inf if options.minutes is None else time.monotonic() + 60 * options.minutes
    steps = _steps(len(examples), options)
    begun = saved = len(losses)
    for step, numbers in list(enumerate(_batches(len(examples), options)))[begun:]:
        if time.monotonic() >= end:
            break
        chosen = [examples[number] for number in numbers]
        losses.append(
            _loss(learner, chosen, options.rate * _warmth(step, steps, options.warm_up), step + 1)
        )
        if len(losses) % options.save_every == 0:
            place.save(losses, learner.state())
            saved = len(losses)
        if progress:
            progress(len(losses), steps, f"loss {losses[-1]:.2f}")
    if len(losses) > saved:
        place.save(losses, learner.state())
    return losses


_ROW_FORM = 'a row is {"text": PROMPT, "answer": REPLY}'


def read_rows(path: Path) -> Iterator[PromptAndReply]:
    """Yield the prompt and the reply of each row; other fields are ignored.

    Raise InputError for a row of another form, and for a file without rows.
    """
    try:
        lines = files.read_bytes(path).decode("utf-8").split("\n")
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r} ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{str(path)!r} is not UTF-8: {error}") from error
    if not any(map(str.strip, lines)):
        raise InputError(f"{path} has no rows; {_ROW_FORM}")
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield _prompt_and_reply(line, f"{path}, line {number}")


def _prompt_and_reply(line: str, place: str) -> PromptAndReply:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place}: not JSON ({error}); {_ROW_FORM}") from error
    pair = (row.get("text"), row.get("answer")) if isinstance(row, dict) else (None, None)
    if not isinstance(pair[0], str) or not isinstance(pair[1], str):
        raise InputError(f"{place}: no text with its answer; {_ROW_FORM}")
    return pair[0], pair[1]


def micro_batches(examples: Sequence[S], tokens: int) -> Iterator[list[S]]:
    """Split a step's rows, by length, into batches of at most ``tokens`` with their padding.

    A row that is longer than ``tokens`` is a batch of its own.
    """
    batch: list[S] = []
    for example in sorted(examples, key=len):
        if batch and (len(batch) + 1) * len(example) > tokens:
            yield batch
            batch = []
        batch.append(example)
    if batch:
        yield batch


def _loss(learner: Trainable[T], examples: Sequence[T], rate: float, step: int) -> float:
    """The loss of a step. Raises TuningStopped without enough memory, or if it is not finite."""
    try:
        loss = learner.learn(examples, rate)
    except MemoryError as error:
        raise TuningStopped(
            f"the tuning stopped at step {step}: {error}. The last checkpoint is kept. Run it "
            "where more memory is free, or leave such rows out by a lower --max-tokens, with "
            "another --checkpoint"
        ) from error
    if not math.isfinite(loss):  # no later step can learn from there
        raise TuningStopped(
            f"the loss of step {step} is {loss}: the steps were too large. No adapter was "
            "written; give a lower --rate"
        )
    return loss


def _batches(count: int, options: TuneOptions) -> Iterator[Sequence[int]]:
    """The numbers of the rows of every step."""
    for epoch in range(options.epochs):
        order = np.random.default_rng([options.seed, epoch]).permutation(count).tolist()
        for begin in range(0, count, options.batch):
            yield order[begin : begin + options.batch]


def _steps(count: int, options: TuneOptions) -> int:
    return options.epochs * math.ceil(count / options.batch)


def _warmth(step: int, steps: int, warm_up: float) -> float:
    """The learning rate of a step as a share of the highest: a linear rise, then half a cosine."""
    rise = max(1, round(warm_up * steps))
    if step < rise:
        return (step + 1) / rise
    return 0.5 * (1 + math.cos(math.pi * (step - rise) / max(1, steps - rise)))


def _fingerprint(model: Path, rows: Sequence[PromptAndReply], options: TuneOptions) -> str:
    """A digest of all that decides what is learned."""
    digest = hashlib.sha256()
    with files.open_file(model) as file:
        while block := file.read(1 << 20):
            digest.update(block)
    names = ("epochs", "batch", "rate", "rank", "seed", "max_tokens", "warm_up")
    course = {name: getattr(options, name) for name in names}
    digest.update(json.dumps([course, [list(row) for row in rows]]).encode())
    return digest.hexdigest()
