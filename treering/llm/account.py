"""The language model of a memory, opened when it is first needed; its costs go into the ledger."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

from treering.journal import ledger
from treering.journal.space import Space
from treering.llm.contract import LLM, Reply
from treering.llm.settings import is_configured, open_llm


class ModelAccount:
    """Opens the configured model and writes down what it costs the space."""

    def __init__(self, space: Space, llm: str | LLM | None) -> None:
        self.space = space
        self._spec = llm
        self._open: Callable[[], LLM] = partial(open_llm, llm)
        self._opening = threading.Lock()
        self._llm: LLM | None = None

    def of_space(self, space: Space) -> ModelAccount:
        """Return the account of another space, which asks the model of this one."""
        account = ModelAccount(space, self._spec)
        account._open = self.llm
        return account

    def llm(self) -> LLM:
        """The model. Raises LLMNotConfigured, which says how to configure one."""
        with self._opening:
            if self._llm is None:
                self._llm = self._open()
            return self._llm

    @property
    def has_model(self) -> bool:
        """Whether there is a model to ask, opened or not."""
        return is_configured(self._llm or self._spec)

    def close(self) -> None:
        """Close the model if this memory opened it."""
        if self._llm is not None and self._llm is not self._spec:
            self._llm.close()

    def pay(self, operation: str, reply: Reply) -> None:
        """Write what a reply cost into the ledger."""
        with self.space.write() as writer:
            ledger.spend(writer, reply.usage.spent(operation, reply.model))
