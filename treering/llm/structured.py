"""Structured replies: JSON of a given form, repaired, validated, and requested at most twice.

A form is a dataclass, or a list of one; pydantic checks the types of its fields.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from treering.errors import LLMReplyError, MissingExtra
from treering.llm.contract import LLM, Message, Reply

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")

_SHOWN_REPLY = 300
_SHOWN_PROBLEMS = 5

_FORM = "Answer with JSON only, no other words. It must fit this JSON schema:"
_AGAIN = "That does not fit: {problem}\nAnswer again, with the corrected JSON only."


def ask_structured(
    llm: LLM,
    prompt: str,
    form: type[T],
    *,
    max_tokens: int,
    temperature: float = 0.0,
    seed: int | None = None,
    check: Callable[[T], None] | None = None,
    say_form: bool = True,
    on_reply: Callable[[Reply], object] | None = None,
) -> T:
    """The model's reply to a prompt as a ``form``.

    ``say_form`` adds the form's schema to the prompt; turn it off for a prompt that describes it.
    ``check`` may refuse a value by raising ``ValueError``. After a reply that does not fit, the
    model sees the problem and gets a second and last attempt. ``on_reply`` gets each reply, since a
    reply that does not fit costs, too.

    Raises ``LLMReplyError`` after the second attempt, the model's own errors, and ``MissingExtra``.
    """
    adapter = _adapter(form)
    if say_form:
        prompt += f"\n\n{_FORM}\n{json.dumps(adapter.json_schema(), ensure_ascii=False)}"
    messages = [Message("user", prompt)]
    for is_last in (False, True):
        reply = llm.complete(messages, max_tokens=max_tokens, temperature=temperature, seed=seed)
        if on_reply is not None:
            on_reply(reply)
        try:
            return _read(reply, adapter, check)
        except ValueError as error:
            if is_last:
                raise LLMReplyError(
                    f"{reply.model} did not answer in the form asked for, twice "
                    f"({_in_words(error)}); it wrote {reply.text[:_SHOWN_REPLY]!r}. Try a larger "
                    "model"
                ) from error
            again = Message("user", _AGAIN.format(problem=_in_words(error)))
        messages += [Message("assistant", reply.text), again]
    raise AssertionError("the last attempt returns or raises")


def read_as(reply: Reply, form: type[T]) -> T:
    """A reply read as a ``form``. Raises ``ValueError``, ``MissingExtra``."""
    return _read(reply, _adapter(form), None)


def read_json(text: str) -> object:
    """The JSON value in a model's reply: bare, fenced, among words, or with slips mended.

    Raises ``ValueError`` without an object or list in it.
    """
    try:
        import json_repair
    except ModuleNotFoundError as missing:
        raise MissingExtra.of("json-repair", "llm") from missing
    try:
        value: object = json_repair.loads(text)
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None
    if not isinstance(value, dict | list):
        raise ValueError("there is no JSON object or list in the reply")
    return value


def _adapter(form: type[T]) -> TypeAdapter[T]:
    try:
        import pydantic
    except ModuleNotFoundError as missing:
        raise MissingExtra.of("pydantic", "llm") from missing
    return pydantic.TypeAdapter(form)


def _read(reply: Reply, adapter: TypeAdapter[T], check: Callable[[T], None] | None) -> T:
    if reply.finish_reason == "length":
        # Mending would close the brackets and drop whatever had not been written yet.
        raise ValueError("the reply was cut off before its end; write less")
    value = adapter.validate_python(read_json(reply.text))
    if check is not None:
        check(value)
    return value


def _in_words(error: ValueError) -> str:
    import pydantic

    if not isinstance(error, pydantic.ValidationError):
        return str(error)
    problems = [
        f"{'.'.join(map(str, problem['loc'])) or 'the value'}: {problem['msg']}"
        for problem in error.errors(include_url=False)[:_SHOWN_PROBLEMS]
    ]
    return "; ".join(problems)
