"""Tuning a model on instruction rows: checkpointed, so that a killed run goes on where it was.

The order of the rows follows from the seed alone, so that a run that was killed and went on has
seen the same rows in the same order as one that was not.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

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

PromptAndReply = tuple[str, str]
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class TuneOptions:
    """How a model is tuned. ``batch`` is rows a step, ``rate`` the highest learning rate.

    Rows of more than ``max_tokens`` are left out. A checkpoint is written after every
    ``save_every`` steps. After ``minutes`` the run stops; the same call goes on with it.
    """

    epochs: int = 1
    batch: int = 8
    rate: float = 5e-4
    rank: int = 16
    seed: int = 0
    max_tokens: int = MAX_TOKENS
    save_every: int = 10
    minutes: float | None = None
    threads: int | None = None

    def __post_init__(self) -> None:
        for name in ("epochs", "batch", "rank", "max_tokens", "save_every"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; it must be at least 1")
        if not 0 < self.rate <= 1:
            raise InputError(f"rate is {self.rate}; a learning rate is such as 5e-4")
        if not 0 <= self.seed < 1 << 63:
            raise InputError(f"seed is {self.seed}; give a number from 0 to 2**63 - 1")
        if self.minutes is not None and not self.minutes >= 0:
            raise InputError(f"minutes is {self.minutes}; it must be at least 0")

    def course(self) -> dict[str, Any]:
        """What decides what is learned from which rows, in which order."""
        names = ("epochs", "batch", "rate", "rank", "seed", "max_tokens")
        return {name: value for name, value in asdict(self).items() if name in names}


@dataclass(frozen=True, slots=True)
class Tuned:
    """What came of a run: ``losses`` has the mean loss of each step so far, in nats a token."""

    rows: int
    left_out: int
    tokens: int
    steps: int
    of_steps: int
    losses: tuple[float, ...]

    @property
    def is_complete(self) -> bool:
        """Whether all steps were done."""
        return self.steps == self.of_steps


class Trainable(Protocol[Row]):
    """What learns from examples step by step, and whose state can be stored."""

    def learn(self, examples: Sequence[Row], rate: float) -> float:
        """One step; the mean loss. Raises MemoryError if there is too little memory for it."""
        ...

    def state(self) -> bytes:
        """All that a step changes."""
        ...

    def restore(self, state: bytes) -> None:
        """Go on from a state."""
        ...


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A file with how far a tuning has come: a line of JSON, then the learner's state."""

    path: Path
    of: str

    def load(self) -> tuple[list[float], bytes] | None:
        """Losses of the steps done, and the state; None if there is no such file.

        Raises InputError for a file that is none, and for that of another tuning.
        """
        try:
            content = files.read_bytes(self.path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InputError(f"cannot read {str(self.path)!r} ({error.strerror})") from error
        if not content.startswith(_MARK):
            raise InputError(f"{str(self.path)!r} is no checkpoint; give another --checkpoint")
        header, _, state = content[len(_MARK) :].partition(b"\n")
        try:
            fields = json.loads(header)
            of, losses, digest = fields["of"], fields["losses"], fields["state"]
        except (ValueError, KeyError, TypeError):
            of = digest = None
        if digest != hashlib.sha256(state).hexdigest():
            raise InputError(
                f"the checkpoint {str(self.path)!r} is damaged; give another --checkpoint, or "
                "remove it to begin anew"
            )
        if of != self.of:
            raise InputError(
                f"{str(self.path)!r} is of another model, other rows or other options; give "
                "another --checkpoint, or remove it to begin anew"
            )
        return losses, state

    def save(self, losses: Sequence[float], state: bytes) -> None:
        """Replace the file, whole. Raises TuningStopped, with the one before still there."""
        digest = hashlib.sha256(state).hexdigest()
        header = json.dumps({"of": self.of, "losses": list(losses), "state": digest})
        try:
            files.replace_file(self.path, _MARK + header.encode() + b"\n" + state)
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
        raise InputError("there are no rows to learn from")
    for row in rows:
        check_text("\n".join(row), "a row")
    refuse_places([out, checkpoint], [model])
    # Here, so that rows are made without the extra, and as PyTorch takes long to import.
    from treering.tune.adapter import model_facts, write_adapter

    facts = model_facts(model)
    from treering.tune.learner import Learner, use_threads

    use_threads(options.threads or processors.usable())
    place = Checkpoint(checkpoint, _fingerprint(model, rows, options))
    place.load()  # before the model is loaded, which takes longer than to see what is wrong
    learner = Learner(model, facts, options.rank, options.rate, options.seed)
    examples = [learner.example(*row) for row in rows]
    fitting = [example for example in examples if len(example) <= options.max_tokens]
    if not fitting:
        raise InputError(f"every row has more than {options.max_tokens} tokens")
    losses = learn(learner, fitting, options, place, progress)
    try:
        write_adapter(out, facts, learner.changes(), learner.alpha)
    except InputError as error:
        raise TuningStopped(f"{error}; the checkpoint {checkpoint} has what was learned") from error
    return Tuned(
        rows=len(fitting),
        left_out=len(rows) - len(fitting),
        tokens=sum(map(len, fitting)),
        steps=len(losses),
        of_steps=_steps(len(fitting), options),
        losses=tuple(losses),
    )


def refuse_places(places: Sequence[Path], read: Sequence[Path]) -> None:
    """Raise InputError, before anything is done, for places to write to that can be none.

    Neither is a folder, nor one of the files that are ``read``, nor one that another place is.
    """
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
    """Do the steps that the checkpoint has not, or those that the time is enough for.

    Returns the loss of every step so far. Raises TuningStopped, InputError.
    """
    losses: list[float] = []
    stored = place.load()
    if stored is not None:
        losses, state = stored
        learner.restore(state)
    end = math.inf if options.minutes is None else time.monotonic() + 60 * options.minutes
    steps = _steps(len(examples), options)
    begun = saved = len(losses)
    for step, numbers in enumerate(_batches(len(examples), options)):
        if step < begun:
            continue
        if time.monotonic() >= end:
            break
        chosen = [examples[number] for number in numbers]
        losses.append(_loss(learner, chosen, options.rate * _warmth(step, steps), len(losses) + 1))
        if not math.isfinite(losses[-1]):  # nothing can be learned from there, by any later step
            raise TuningStopped(
                f"the loss of step {len(losses)} is {losses[-1]}: the steps were too large. No "
                f"adapter was written; give a lower --rate than {options.rate}"
            )
        if len(losses) % options.save_every == 0:
            place.save(losses, learner.state())
            saved = len(losses)
        if progress:
            progress(len(losses), steps, f"loss {losses[-1]:.2f}")
    if len(losses) > saved:
        place.save(losses, learner.state())
    return losses


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
    """The loss of a step. Raises TuningStopped if there is too little memory for it."""
    try:
        return learner.learn(examples, rate)
    except MemoryError as error:
        raise TuningStopped(
            f"the tuning stopped at step {step}: {error}. The last checkpoint is kept. Run it "
            "where more memory is free, or leave such rows out by a lower --max-tokens, with "
            "another --checkpoint"
        ) from error


def _batches(count: int, options: TuneOptions) -> Iterator[Sequence[int]]:
    """The numbers of the rows of every step."""
    for epoch in range(options.epochs):
        order = np.random.default_rng([options.seed, epoch]).permutation(count).tolist()
        for begin in range(0, count, options.batch):
            yield order[begin : begin + options.batch]


def _steps(count: int, options: TuneOptions) -> int:
    return options.epochs * math.ceil(count / options.batch)


def _warmth(step: int, steps: int) -> float:
    """The learning rate of a step as a share of the highest: a linear rise, then half a cosine."""
    rise = max(1, round(WARM_UP * steps))
    if step < rise:
        return (step + 1) / rise
    return 0.5 * (1 + math.cos(math.pi * (step - rise) / max(1, steps - rise)))


def _fingerprint(model: Path, rows: Sequence[PromptAndReply], options: TuneOptions) -> str:
    digest = hashlib.sha256()
    with files.open_file(model) as file:
        while block := file.read(1 << 20):
            digest.update(block)
    course: Mapping[str, Any] = options.course()
    digest.update(json.dumps([course, [list(row) for row in rows]]).encode())
    return digest.hexdigest()
