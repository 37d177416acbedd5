"""A model in a GGUF file with a LoRA adapter on it that learns to give replies."""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from treering.errors import LLMNotConfigured, MissingExtra
from treering.llm.tokens import defuse
from treering.tune.adapter import MODULES, LowRank
from treering.tune.train import micro_batches

try:
    import peft
    import torch
    import transformers
except ModuleNotFoundError as missing:
    raise MissingExtra.of(str(missing.name), "tune") from missing

ALPHA_OF_RANK: Final = 2
"""LoRA's α as a multiple of its rank, as is usual."""

MOST_GRADIENT: Final = 1.0
"""Longer gradients are cut to this length: one odd row would undo what many taught."""

GPU_TOKENS: Final = 16_384
"""Padded tokens that a GPU computes at once: row by row, it would wait for Python."""

_NO_MEMORY: Final = "can't allocate memory"
"""PyTorch's message in a plain RuntimeError if a machine's main memory is full."""

_FAILURES = (ValueError, KeyError, OSError, RuntimeError, NotImplementedError, TypeError)


@dataclass(frozen=True, slots=True)
class Example:
    """A row as token numbers: the prompt, with the chat template, and the reply with its end."""

    asked: tuple[int, ...]
    reply: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.asked) + len(self.reply)


class Learner:
    """The model, its tokenizer, the adapter, and the optimiser's state."""

    def __init__(self, path: Path, rank: int, rate: float, seed: int, threads: int) -> None:
        """Load the model in full precision. Raises LLMNotConfigured if that cannot be done."""
        torch.set_num_threads(threads)
        self.alpha = float(ALPHA_OF_RANK * rank)
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        model, self._tokenizer = _load(path)
        torch.manual_seed(seed)  # of the adapter's first weights
        config = peft.LoraConfig(
            r=rank,
            lora_alpha=self.alpha,
            target_modules=[name.rpartition(".")[2] for name in MODULES],
            task_type="CAUSAL_LM",
        )
        self._model = peft.get_peft_model(model, config).to(self._device)
        self._model.train()
        weights = [weight for weight in self._model.parameters() if weight.requires_grad]
        self._optimiser = torch.optim.AdamW(weights, lr=rate, weight_decay=0.0)
        self._weights = weights

    def example(self, asked: str, reply: str) -> Example:
        """A row in the model's own chat template, without what could act there."""
        question = [{"role": "user", "content": defuse(asked)}]
        answered = [*question, {"role": "assistant", "content": defuse(reply)}]
        template = self._tokenizer.apply_chat_template
        before = template(question, tokenize=False, add_generation_prompt=True)
        whole = template(answered, tokenize=False)
        if not whole.startswith(before):
            raise LLMNotConfigured(
                "the model cannot be tuned: its chat template writes a reply otherwise than it asks"
            )
        return Example(self._tokens(before), self._tokens(whole[len(before) :].rstrip("\n")))

    def learn(self, examples: Sequence[Example], rate: float) -> float:
        """One step over some rows; the mean loss of a reply's token, in nats.

        Raises MemoryError, with the longest row, if the device's memory is full.
        """
        try:
            return self._step(examples, rate)
        except RuntimeError as error:
            if isinstance(error, torch.OutOfMemoryError) or _NO_MEMORY in str(error):
                longest = max(map(len, examples))
                raise MemoryError(
                    f"the {self._device}'s memory is full; the longest of its rows has "
                    f"{longest} tokens"
                ) from error
            raise

    def _step(self, examples: Sequence[Example], rate: float) -> float:
        for group in self._optimiser.param_groups:
            group["lr"] = rate
        self._optimiser.zero_grad(set_to_none=True)
        tokens = sum(len(example.reply) for example in examples)
        total = 0.0
        # A CPU gains nothing from padding, so there each row is computed alone.
        for batch in micro_batches(examples, GPU_TOKENS if self._device == "cuda" else 0):
            with torch.autocast(self._device, dtype=torch.bfloat16):
                loss = self._loss(batch) / tokens
            loss.backward()
            total += float(loss.detach())
        torch.nn.utils.clip_grad_norm_(self._weights, MOST_GRADIENT)
        self._optimiser.step()
        return total

    def changes(self) -> dict[str, LowRank]:
        """Return the learned changes, by transformers' names."""
        changes = {}
        for name, module in self._model.named_modules():
            if hasattr(module, "lora_A") and "default" in module.lora_A:
                a, b = (
                    part["default"].weight.detach().float().cpu().numpy()
                    for part in (module.lora_A, module.lora_B)
                )
                changes[name[name.index("layers.") :]] = LowRank(a, b)
        return changes

    def state(self) -> bytes:
        """Adapter and optimiser, to go on from."""
        buffer = io.BytesIO()
        weights = [weight.detach().cpu() for weight in self._weights]
        torch.save({"weights": weights, "optimiser": self._optimiser.state_dict()}, buffer)
        return buffer.getvalue()

    def restore(self, state: bytes) -> None:
        """Go on from a state of the same model, rank and seed."""
        loaded: Mapping[str, Any] = torch.load(
            io.BytesIO(state), map_location=self._device, weights_only=True
        )
        with torch.no_grad():
            for weight, stored in zip(self._weights, loaded["weights"], strict=True):
                weight.copy_(stored)
        self._optimiser.load_state_dict(loaded["optimiser"])

    def _loss(self, examples: Sequence[Example]) -> Any:
        """The summed loss of the replies. The head, a third of a small model, sees only them."""
        shape = (len(examples), max(map(len, examples)))
        numbers = torch.zeros(shape, dtype=torch.long)
        learned = torch.zeros(shape, dtype=torch.bool)
        for row, example in enumerate(examples):
            numbers[row, : len(example)] = torch.tensor([*example.asked, *example.reply])
            learned[row, len(example.asked) : len(example)] = True
        numbers = numbers.to(self._device)
        learned = learned[:, 1:].to(self._device)  # the state before a token predicts it
        base = self._model.get_base_model()
        # Padding comes last and attention looks back, so no row sees it and no mask is needed.
        states = base.model(input_ids=numbers[:, :-1], use_cache=False).last_hidden_state
        scores, target = base.lm_head(states[learned]), numbers[:, 1:][learned]
        return torch.nn.functional.cross_entropy(scores.float(), target, reduction="sum")

    def _tokens(self, text: str) -> tuple[int, ...]:
        return tuple(self._tokenizer.encode(text, add_special_tokens=False))


def _load(path: Path) -> tuple[Any, Any]:
    """The model and its tokenizer, from the file alone: nothing is looked up elsewhere."""
    options = {"gguf_file": path.name, "local_files_only": True}
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # advice to programmers of transformers
            model = transformers.AutoModelForCausalLM.from_pretrained(
                path.parent, dtype=torch.float32, **options
            )
            tokenizer = transformers.AutoTokenizer.from_pretrained(path.parent, **options)
    except _FAILURES as error:
        raise LLMNotConfigured(f"{str(path)!r} cannot be tuned: {error}") from error
    if not tokenizer.chat_template:
        raise LLMNotConfigured(
            f"{str(path)!r} cannot be tuned: it has no chat template; give an instruct model"
        )
    return model, tokenizer
