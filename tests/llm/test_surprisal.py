"""The surprisals of a text, asked of a server that tells only what it writes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from treering.llm.surprisal import surprisals

TEXT = "to be 東 be"
PIECES: list[str | list[int]] = ["to", " be", [32, 0xE6, 0x9D], [0xB1], " be"]


class Server:
    """Five pieces, numbered from 10; the newline is 1. It tells the n-th token as 2^-n likely."""

    def __init__(self) -> None:
        self.prompts: list[list[int]] = []

    def __call__(self, path: str, body: Mapping[str, Any]) -> Any:
        if path == "/tokenize":
            if not body.get("with_pieces"):
                return {"tokens": [1]}
            assert (body["add_special"], body["parse_special"]) == (False, False)
            return {"tokens": [{"id": 10 + at, "piece": p} for at, p in enumerate(PIECES)]}
        self.prompts.append(body["prompt"])
        [[token, force]] = body["logit_bias"]
        assert force > 1000
        if token == 12:  # it ends inside a character: nothing is told
            return {"content": ""}
        return {"completion_probabilities": [{"logprob": -math.log(2) * (token - 9)}]}


def test_each_token_is_asked_for_behind_those_before_it() -> None:
    server = Server()
    read = surprisals(server, 100, TEXT)
    assert server.prompts == [[1], [1, 10], [1, 10, 11], [1, 10, 11, 12], [1, 10, 11, 12, 13]]
    assert [round(token.bits, 6) for token in read] == [1, 2, 0, 4, 5]
    assert [TEXT[token.start : token.end] for token in read] == ["to", " be", " 東", "", " be"]


def test_a_text_longer_than_the_window_is_read_in_parts() -> None:
    server = Server()
    surprisals(server, 4, TEXT)
    assert server.prompts == [[1], [1, 10], [1], [1, 12], [1]]


def test_an_empty_text_has_no_tokens() -> None:
    assert surprisals(lambda path, body: {"tokens": []}, 4, "") == []
