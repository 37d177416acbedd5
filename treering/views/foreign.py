"""The views of other packages, which their entry points name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from treering.errors import ViewError
from treering.plugins import plugins
from treering.views.contract import Resources, View, ViewFactory

GROUP = "treering.views"
"""The entry point group of views of other packages: each names a ``ViewFactory``."""


def views_of_other_packages(resources: Resources) -> Iterator[View]:
    """A view of each, in the order of their names. Raises ViewError for one that cannot be made."""
    for entry_point in sorted(plugins(GROUP), key=lambda point: point.name):
        try:
            factory: ViewFactory = entry_point.load()
            view = factory(resources)
        except Exception as error:
            raise ViewError(
                f"view {entry_point.name!r} cannot be made: {type(error).__name__}: {error}; mend "
                "or uninstall the package that brings it"
            ) from error
        yield view


def refuse_equal_names(views: Sequence[View]) -> None:
    """Raises ViewError if two views share a name: they would share their state, too."""
    for name, size in Counter(view.name for view in views).items():
        if size > 1:
            raise ViewError(f"{size} views are called {name!r}; uninstall the package of one")
