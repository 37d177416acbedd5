"""Which relations a search uses when it is not told: by kind of content, chosen by measurement."""

from __future__ import annotations

from collections.abc import Mapping

from treering.records import Kind
from treering.search.people import LEARNED
from treering.search.relations.decay import ContextRelation
from treering.search.relations.group import Session, WholeMessage
from treering.search.relations.plan import Weighted
from treering.search.signals.mentions import Mention
from treering.search.signals.parts import Parts
from treering.search.signals.question import NamedSpeaker, ReplyTo, Role, When, Wish
from treering.search.signals.sources import NamedSource

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
        Weighted(
            ContextRelation(w=0.6, within="session"), alpha=1.0, among_people=LEARNED["context"]
        ),
        Weighted(WholeMessage(), alpha=1.0, among_people=LEARNED["context"]),
        Weighted(Session(), alpha=0.7, among_people=0.0),
        Weighted(NamedSpeaker(), alpha=2.0, among_people=LEARNED["named"]),
        Weighted(ReplyTo(), alpha=0.0, among_people=LEARNED["reply"]),
        Weighted(When(), alpha=4.0, among_people=LEARNED["when"]),
        Weighted(Role(), alpha=2.5, among_people=0.0),
        Weighted(Wish(), alpha=1.3, among_people=0.0),
    ),
    "code": (Weighted(ContextRelation(w=0.5), alpha=0.5),),
}
"""Among people: see ``LEARNED``. A whole message counts as its context does there, which was not
measured: no message of these sets is cut.

Chat with an assistant: ``treering-bench learn --chats assistant`` finds BM25 0.33, context 0,
message 0.2, session 0.43, role 1.6, wish 0.85 on BEAM and RealMem. These weights lie between those
and the ones before, which MT-Bench+ needs: recall@10 of BEAM and MT-Bench+ is 66.5 and 99.4, with
those learned 65.5 and 97.2. Wish is two words, and all that it finds is on BEAM:
4 points. α of context is divided by the pieces of a message (see ``beside_messages``), role and
wish are multiplied by them.

Text: the paper's w, and half its α: from 0 to 0.5 no set changes by more than 0.7 points, and more
(w 0.5, α 1) costs 2.5 on MultiHop-RAG, whose documents are a fact or two. Mention: 2WikiMultihopQA
recall@10 rises from 70 to 94, within two points for α from 0.7 to 1. When: of the questions that
name a time it rises from 89 to 93 on MultiHop-RAG; α from 2 to 6 gains. Parts: MultiHop-RAG
recall@10 rises by 0.6 and recall@3 by 2.2, for α from 0.3 to 0.6. Source: MultiHop-RAG recall@10
rises from 91.0 to 92.3 and 2WikiMultihopQA from 94.1 to 95.3, half as much for α of 2. Code: the
paper's α. Time and both semantic readings gained nothing on any data we have; they are there to be
chosen, and for ``fit``."""
