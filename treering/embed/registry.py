"""Embedders by specification: the bundled one, an endpoint, fastembed, or a plug-in."""

from __future__ import annotations

from treering.embed.contract import Embedder
from treering.embed.minilm import MiniLM
from treering.errors import InputError, UnknownName
from treering.plugins import plugins

GROUP = "treering.embedders"
DEFAULT = MiniLM.name


def open_embedder(spec: str | Embedder | None) -> Embedder:
    """The embedder for a specification; an embedder is returned as it is.

    ``minilm`` is the bundled model, ``openai:MODEL[@BASE_URL]`` any OpenAI-compatible endpoint,
    ``fastembed:MODEL`` a local model, ``NAME[:ARGUMENT]`` an entry point of the group
    ``treering.embedders``. Raises UnknownName, MissingExtra.
    """
    if spec is None:
        spec = DEFAULT
    if not isinstance(spec, str):
        # Not isinstance: it would read the dimension, perhaps from an endpoint that is down.
        if not isinstance(getattr(spec, "name", None), str) or not hasattr(spec, "embed"):
            raise InputError(f"embedder {spec!r} has no name, dimension and embed(); see Embedder")
        return spec
    name, _, argument = spec.partition(":")
    if name == MiniLM.name:
        return MiniLM()
    if name == "openai":
        from treering.embed.openai_compatible import OpenAIEmbedder

        return OpenAIEmbedder(argument)
    if name == "fastembed":
        from treering.embed.fastembed import FastEmbedEmbedder

        return FastEmbedEmbedder(argument)
    points = plugins(GROUP)
    if name not in points.names:
        raise UnknownName(
            f"no embedder {spec!r}; give minilm, openai:MODEL[@BASE_URL], fastembed:MODEL or "
            f"an entry point of {GROUP}",
            param="embedder",
        )
    embedder: Embedder = points[name].load()(argument)
    return embedder
