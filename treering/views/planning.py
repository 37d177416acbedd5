"""Which relations a search uses: those of the space, or chosen ones; views bring some by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from treering.errors import ViewError
from treering.journal import ledger
from treering.journal.space import Space
from treering.search.relations.contract import Relation
from treering.search.relations.plan import Plan
from treering.search.relations.registry import Chosen, Named, choose_plan, load_plan
from treering.views.contract import View, attribute_errors
from treering.views.tree.derive import Summaries
from treering.views.tree.search import with_tree

Alpha = float | Mapping[str, float]


class Planner:
    """The relations of a space and of its ``views``; ``tree`` gives that of the tree."""

    def __init__(self, space: Space, views: Sequence[View], tree: Callable[[], Relation]) -> None:
        self._space = space
        self._views = views
        self._tree = tree

    def plan(self, relations: Chosen | None, alpha: Alpha | None, *, tree: bool = False) -> Plan:
        """The chosen relations with weights. ``tree`` adds the tree relation to the defaults."""
        return self.plan_from(self.defaults(), relations, alpha, tree=tree)

    def plan_from(
        self, defaults: Plan, relations: Chosen | None, alpha: Alpha | None, *, tree: bool
    ) -> Plan:
        """As ``plan``, where the ``defaults`` have been read already."""
        # Settings without any relation, as a preset may give them, get none of the tree either.
        if relations is None and tree and any(defaults.values()):
            defaults = with_tree(defaults, self._tree())
        if relations is not None and not isinstance(relations, str):
            relations = [self._relation(chosen) for chosen in relations]
        return choose_plan(defaults, relations, alpha, self._relation_names())

    def defaults(self) -> Plan:
        """The shipped relations of each kind of content, or those that ``fit`` found."""
        with self._space.read() as reader:
            return load_plan(ledger.settings(reader))

    def _relation_names(self) -> list[str]:
        return [view.relation_name for view in self._views if view.relation_name]

    def _relation(self, chosen: Named) -> Named:
        """The relation that a view provides under a name; any other choice as it is."""
        for view in self._views:
            if view.relation_name is not None and view.relation_name == chosen:
                return self._relation_of(view)
        return chosen

    def _relation_of(self, view: View) -> Relation:
        if isinstance(view, Summaries):
            return self._tree()
        with attribute_errors(view):
            relation = view.relation()
        if relation is None:
            raise ViewError(f"view {view.name!r} has no relation {view.relation_name!r} to give")
        return relation
