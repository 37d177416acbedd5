"""Which relations a search uses: those of the space, or chosen ones; views bring some by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from treering.errors import ViewError
from treering.journal import ledger
from treering.journal.space import Space
from treering.search.relations.contract import Relation
from treering.search.relations.plan import Plan
from treering.search.relations.registry import Chosen, choose_plan, load_plan
from treering.views.contract import View, attribute_errors
from treering.views.tree.search import with_tree

Alpha = float | Mapping[str, float]


class Planner:
    """The relations of a space, and those that its ``views`` provide by name."""

    def __init__(self, space: Space, views: Sequence[View]) -> None:
        self._space = space
        self._views = views

    def plan(self, relations: Chosen | None, alpha: Alpha | None, *, tree: bool = False) -> Plan:
        """The chosen relations with weights. ``tree`` adds the tree relation to the defaults."""
        return self.plan_from(self.defaults(), relations, alpha, tree=tree)

    def plan_from(
        self, defaults: Plan, relations: Chosen | None, alpha: Alpha | None, *, tree: bool
    ) -> Plan:
        """As ``plan``, from ``defaults`` that were read before."""
        by_name = {view.relation_name: view for view in self._views if view.relation_name}
        # Settings without any relation, as a preset may give them, get none of the tree either.
        if relations is None and tree and any(defaults.values()):
            defaults = with_tree(defaults, _relation_of(by_name["tree"]))
        if relations is not None and not isinstance(relations, str):
            relations = [
                _relation_of(by_name[chosen])
                if isinstance(chosen, str) and chosen in by_name
                else chosen
                for chosen in relations
            ]
        return choose_plan(defaults, relations, alpha, [*by_name])

    def defaults(self) -> Plan:
        """The shipped relations of each kind of content, or those that ``fit`` found."""
        with self._space.read() as reader:
            return load_plan(ledger.settings(reader))


def _relation_of(view: View) -> Relation:
    with attribute_errors(view):
        relation = view.relation()
    if relation is None:
        raise ViewError(f"view {view.name!r} has no relation {view.relation_name!r} to give")
    return relation
