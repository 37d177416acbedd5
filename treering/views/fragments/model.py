"""The embedding model of a space: the one that it was built with, or one that is asked for."""

from __future__ import annotations

from collections.abc import Callable

from treering.embed.contract import Embedder
from treering.embed.registry import DEFAULT, open_embedder
from treering.errors import ModelMismatch
from treering.hints import Hint
from treering.journal.space import Space, SpaceState


def space_embedder(
    space: Space,
    embedder: str | Embedder | None,
    opening: Callable[[str | Embedder], Embedder] = open_embedder,
) -> Embedder:
    """The requested embedding model, or by default the one that the space was built with.

    Raises ModelMismatch, UnknownName.
    """
    with space.read() as reader:
        state = reader.state
    if embedder is None:
        embedder = state.model.name if state.model else DEFAULT
    model = opening(embedder)
    ensure_same_model(state, model, space.name)
    return model


def ensure_same_model(state: SpaceState, embedder: Embedder, space: str) -> None:
    """Raises ModelMismatch when a space was built with another model than the one given.

    Its dimension is not asked for: an endpoint may be down, and vectors are checked as they come.
    """
    if state.model is None:
        return
    if embedder.name not in {model.name for model in state.models}:
        raise ModelMismatch(
            f"space {space!r} was built with the embedding model {state.model.name!r}, opened with "
            f"{embedder.name!r}",
            hint=Hint.CHANGE_MODEL,
            values={"built": state.model.name, "opened": embedder.name},
        )
