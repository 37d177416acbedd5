"""Which relations a search uses when it is not told: by kind of content, chosen by measurement."""

from __future__ import annotations

from collections.abc import Mapping

from treering.records import Kind
from treering.search.relations.decay import ContextRelation
from treering.search.relations.group import WholeMessage
from treering.search.relations.plan import Weighted
from treering.search.signals.feedback import Feedback
from treering.search.signals.mentions import Mention
from treering.search.signals.parts import Parts
from treering.search.signals.question import NamedSpeaker, Role, When, Wish
from treering.search.signals.sources import NamedSource, ReplyTo

DEFAULTS: Mapping[Kind, tuple[Weighted, ...]] = {
    "text": (
        Weighted(ContextRelation(w=0.3), alpha=0.25),
        Weighted(NamedSpeaker(), alpha=2.0),
        Weighted(Mention(), alpha=0.7),
        Weighted(When(), alpha=4.0),
        Weighted(Parts(), alpha=0.4),
        Weighted(NamedSource(), alpha=4.0),
    ),
    "chat": (
        Weighted(ContextRelation(w=0.6, within="session"), alpha=3.0, among_people=2.3),
        Weighted(WholeMessage(), alpha=3.0, among_people=2.3),
        Weighted(NamedSpeaker(), alpha=2.0, among_people=3.3),
        Weighted(Feedback(), alpha=1.0, among_people=0.0),
        Weighted(When(), alpha=4.0, among_people=13.0),
        Weighted(Parts(), alpha=0.4, among_people=0.0),
        Weighted(Role(), alpha=3.0),
        Weighted(Wish(), alpha=1.5),
        Weighted(NamedSource(), alpha=4.0, among_people=0.0),
        Weighted(ReplyTo(), alpha=1.0, among_people=0.75),
    ),
    "code": (Weighted(ContextRelation(w=0.5), alpha=0.5),),
}
"""Among people: learned by ``treering-bench learn`` on LoCoMo and LiHua-World, as multiples of the
weight of cosines; ``benchmarks/results/learn.json`` has what they find. A whole message counts as
its context does there, which was not measured: no message of these sets is cut.

Chat: LoCoMo recall@10 rises from 70 to 77, within a point for w from 0.5 to 0.8 and α from 2 to
5; crossing session borders costs 0.8. Chosen on MT-Bench+ and LiHua-World instead α is 3 as well.
Whole messages, where replies run to pages: BEAM recall@10 rises from 45 to 55 and recall@3 from 20
to 34; α of context is divided by the pieces of a message there (see ``beside_messages``). Text: the
paper's w, and half its α: from 0 to 0.5 no set changes by more than 0.7 points, and more (w 0.5,
α 1) costs 2.5 on MultiHop-RAG, whose documents are a fact or two. What the first hits name: 2WikiMultihopQA recall@10
rises from 70 to 94, within two points for α from 0.7 to 1. Session means, time and both semantic
readings gained nothing on any data we have; they are there to be chosen, and for ``fit``. Code: the
paper's α.

When: recall@10 of the questions that name a time rises from 76 to 91 on LiHua-World, 89 to 93 on
MultiHop-RAG and 90 to 92 on LoCoMo; α from 2 to 6 gains on each. Role and wish are of chats
with an assistant, and times the pieces of a message: BEAM recall@10 rises from 55 to 61 and from
there to 64, within a point for role from 3 to 4 and wish from 1.5 to 2. Parts: MultiHop-RAG
recall@10 rises by 0.6 and recall@3 by 2.2, for α from 0.3 to 0.6; the other benchmarks hardly have
such questions. Source: MultiHop-RAG recall@10 rises from 91.0 to 92.3 and 2WikiMultihopQA from 94.1
to 95.3, half as much for α of 2. Reply: LoCoMo recall@10 rises from 82.1 to 83.4, on each of its
five chats, within half a point for α from 0.5 to 1.25; on LiHua-World, whose units are whole talks,
it changes one question for the better and four for the worse."""
