"""Doing what is pending: reading new entries, queued work, and rebuilding views."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from treering.errors import (
    EmbeddingError,
    JournalBusy,
    JournalCorrupt,
    LLMError,
    LLMNotConfigured,
    MissingExtra,
    TreeringError,
    UnknownName,
    ViewError,
)
from treering.journal.space import Space
from treering.records import Progress
from treering.search.snapshot import FragmentSource
from treering.views.contract import View, attributed
from treering.views.follow import SETTLE_PATIENCE_S, Follower
from treering.views.fragments.build import Fragments
from treering.views.rebuild import outdated, rebuild

log = logging.getLogger("treering")


class Settler:
    """Brings the views of one space up to date with its journal.

    One thread does so at a time: it has ``turn`` meanwhile.
    """

    def __init__(
        self,
        space: Space,
        views: Sequence[View],
        fragments: Fragments,
        follower: Follower,
        corpus: FragmentSource,
    ) -> None:
        self.turn = threading.Lock()
        self._space = space
        self._views = views
        self._fragments = fragments
        self._follower = follower
        self._corpus = corpus

    def follow(
        self,
        progress: Progress | None,
        *,
        retry: bool = False,
        patience_s: float = SETTLE_PATIENCE_S,
        leave: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Read new entries, then do the queued work; True if none is left for sure.

        The first failure is raised last. Whoever calls it has the ``turn``.
        """
        self._fragments.begin()
        failures: list[TreeringError] = []
        is_done = False
        with _collected(failures):
            is_done = self._follower.follow(
                progress, retry=retry, patience_s=patience_s, leave=leave
            )
        for view in self._views:
            if view is self._fragments and is_done:
                continue
            with _collected(failures), attributed(view):
                view.catch_up(progress)
        if failures:
            raise failures[0]
        return is_done

    def settle(self, progress: Progress | None, *, upgrade: bool) -> None:
        """Do all pending work now, rebuilds that are due included.

        Raises the first error when all other work is done; what failed stays queued.
        """
        failures: list[TreeringError] = []
        with _collected(failures), self.turn:
            self.follow(progress, retry=True)
        with self._space.read() as reader:
            due = outdated(self._views, reader)
        for view in due:
            with _collected(failures):
                self._rebuild_if_able(view, progress, due=True)
        for view in self._views:
            with _collected(failures), attributed(view):
                view.settle(progress, upgrade=upgrade)
        with _collected(failures):
            self._corpus.settle(progress)
        if failures:
            raise failures[0]

    def rebuild(self, names: Sequence[str], progress: Progress | None = None) -> None:
        """Make the rows of the named views again from the journal; of all views, if none is named.

        Raises UnknownName; and, when all other work is done, the first of LLMError, EmbeddingError,
        JournalCorrupt for entries that are damaged and keep the rows they have, ViewError for
        entries that a view fails on, and LLMNotConfigured for a named view. Unnamed views that
        need a language model stay as they are without one.
        """
        by_name = {view.name: view for view in self._views}
        for name in names:
            if not isinstance(name, str) or name not in by_name:
                raise UnknownName(
                    f"no view {name!r}; there are {', '.join(by_name)}", param="views"
                )
        with self.turn:
            self.follow(progress)
        failures: list[TreeringError] = []
        for view in [by_name[name] for name in names] or self._views:
            with _collected(failures):
                if names:
                    self._rebuild(view, progress)
                else:
                    self._rebuild_if_able(view, progress)
        if failures:
            raise failures[0]

    def _is_outdated(self, view: View) -> bool:
        with self._space.read() as reader:
            return view in outdated(self._views, reader)

    def _rebuild_if_able(self, view: View, progress: Progress | None, *, due: bool = False) -> None:
        """Rebuild a view, unless it needs a language model and there is none."""
        try:
            self._rebuild(view, progress, due=due)
        except LLMNotConfigured as error:
            log.warning("%s is not rebuilt: %s", view.name, error)

    def _rebuild(self, view: View, progress: Progress | None, *, due: bool = False) -> None:
        """Rebuild a view; with ``due`` unless another process does so, or has done so meanwhile.

        Without it, JournalBusy is raised if another process does so for long.
        """
        with self._space.task(f"rebuild:{view.name}", SETTLE_PATIENCE_S) as is_ours:
            if due and not (is_ours and self._is_outdated(view)):
                return
            if not is_ours:
                raise JournalBusy(f"another process rebuilds {view.name!r}; try again later")
            with attributed(view):
                rebuild(self._space, view, progress)  # adds and searches go on meanwhile
        with self.turn:
            self.follow(progress, retry=True)  # says which entries are damaged


@contextmanager
def _collected(failures: list[TreeringError]) -> Iterator[None]:
    """Note what one part of the work raises, so that the others get on.

    What no part could do, such as writing to a full disk, is raised.
    """
    try:
        yield
    except (LLMError, EmbeddingError, MissingExtra, ViewError, JournalCorrupt) as error:
        failures.append(error)
