"""Made-up inputs for a Python function: what its examples call it with, and variations of those.

Examples are calls with literal arguments anywhere in the versions' own text (usage below the
definition, doctests); they show the shape of a sensible argument, which no annotation has to.
"""

from __future__ import annotations

import ast
import doctest
import itertools
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

MOST_PROBES = 120
"""Inputs tried per function: the one-place variations of two or three examples."""

MOST_EXAMPLES = 12

STRANGERS: tuple[object, ...] = (None, "a", "", 0, 1, -1, 2.5, [], [1], (), {}, True)
"""Values of every common type, put in each place to reach type checks and empty cases."""

FALLBACK: tuple[object, ...] = (
    *(0, 1, 2, 3, 7, 10, -1, -4, 2.5, "", "a", "aab", "Hello World", "a_b", "12"),
    *([], [1], [3, 1, 2], [1, 1, 2], ["a"], [[1, 2], [3]], [[]], [(1, 2)], (1, 2), {}, None),
)
"""Arguments when no version shows an example."""

Arguments = tuple[object, ...]
T = TypeVar("T")


def examples(sources: Sequence[str], function: str) -> tuple[str, ...]:
    """Argument tuples, as literal text, that ``sources`` call ``function`` with."""
    trees = [tree for source in sources if (tree := _tree(source)) is not None]
    shown = dict.fromkeys(e for tree in trees for e in _examples(tree, function))
    return tuple(itertools.islice(shown, MOST_EXAMPLES))


def probes(sources: Sequence[str], function: str) -> tuple[str, ...]:
    """The examples and variations of them; where there are none, one value of each sort."""
    shown = [ast.literal_eval(example) for example in examples(sources, function)]
    if shown:
        made_up = _in_turn([_variations(arguments) for arguments in shown])
    else:
        trees = [tree for source in sources if (tree := _tree(source)) is not None]
        arity = max((_arity(tree, function) for tree in trees), default=1)
        made_up = ((value,) * arity for value in FALLBACK)
    return tuple(itertools.islice(literals(itertools.chain(shown, made_up)), MOST_PROBES))


def literals(made_up: Iterable[Arguments]) -> Iterator[str]:
    """Each of ``made_up`` once, as text that can be read back; infinities cannot."""
    seen = set()
    for arguments in made_up:
        text = repr(arguments)
        if text not in seen and _is_literal(text):
            seen.add(text)
            yield text


def _is_literal(text: str) -> bool:
    try:
        ast.literal_eval(text)
    except ValueError:
        return False
    return True


def _tree(source: str) -> ast.Module | None:
    """The syntax tree, or None for text that is not Python: it shows no examples."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return None


def _examples(tree: ast.Module, function: str) -> Iterator[str]:
    """Literal argument tuples of the calls of ``function`` in a module and its docstrings."""
    yield from _calls(tree, function)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and (text := ast.get_docstring(node)):
            try:
                shown = doctest.DocTestParser().get_examples(text)
            except ValueError:
                continue
            for example in shown:
                if (inner := _tree(example.source)) is not None:
                    yield from _calls(inner, function)


def _calls(tree: ast.Module, function: str) -> Iterator[str]:
    constants = _constants(tree)
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            continue
        if node.func.id != function or node.keywords:
            continue
        choices = [list(_literals(argument, constants)) for argument in node.args]
        yield from literals(itertools.islice(itertools.product(*choices), MOST_EXAMPLES))


def _constants(tree: ast.Module) -> Mapping[str, list[ast.expr]]:
    """What each name may stand for: literals assigned to it, elements of literals looped over."""
    constants: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            _bind(node.targets[0], [node.value], constants)
        elif isinstance(node, ast.For | ast.comprehension):
            source = node.iter
            if isinstance(source, ast.Name):
                source = constants.get(source.id, [source])[-1]
            if isinstance(source, ast.List | ast.Tuple | ast.Set):
                _bind(node.target, source.elts, constants)
    return constants


def _bind(
    target: ast.expr, values: Sequence[ast.expr], constants: dict[str, list[ast.expr]]
) -> None:
    if isinstance(target, ast.Name):
        constants.setdefault(target.id, []).extend(values)
    elif isinstance(target, ast.Tuple | ast.List):
        for value in values:
            if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts):
                for part, element in zip(target.elts, value.elts, strict=True):
                    _bind(part, [element], constants)


def _literals(node: ast.expr, constants: Mapping[str, list[ast.expr]]) -> Iterator[object]:
    for candidate in constants.get(node.id, []) if isinstance(node, ast.Name) else [node]:
        try:
            yield ast.literal_eval(candidate)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            continue


def _arity(tree: ast.Module, function: str) -> int:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == function:
            return len(node.args.posonlyargs) + len(node.args.args) - len(node.args.defaults)
    return 1


def _variations(arguments: Arguments) -> Iterator[Arguments]:
    """``arguments`` with one place changed at a time, then with every place alike."""
    changes = [_in_turn([_relatives(value), iter(STRANGERS)]) for value in arguments]
    places = [zip(itertools.repeat(place), change) for place, change in enumerate(changes)]
    for place, new in _in_turn(places):
        yield (*arguments[:place], new, *arguments[place + 1 :])
    if len(arguments) > 1:
        yield from ((stranger,) * len(arguments) for stranger in STRANGERS)


def _relatives(value: object) -> Iterator[object]:
    """Values of the same type at its edges."""
    match value:
        case bool():
            yield not value
        case int() | float():
            yield from (-value, value + 1, value * 2, value - 1, 0.5 + value, 100 + value)
        case str():
            yield from ("", value[:1], value[::-1], value.swapcase(), value + value)
            yield from (value + "1", f" {value} ", value + "_b", value + "!", "0")
        case list():
            yield from ([], value[:1], value[::-1], value + value, value[:-1])
            yield from ([*value, "a"], [*value, None], [*value, 2.5], [*value, -3], tuple(value))
            yield from ([*value[:-1], new] for last in value[-1:] for new in _relatives(last))
        case tuple():
            yield from (
                tuple(v) if isinstance(v, list) else list(value) for v in _relatives(list(value))
            )
        case dict():
            yield from ({}, dict(itertools.islice(value.items(), 1)))


def _in_turn(sources: Iterable[Iterator[T]]) -> Iterator[T]:
    """One from each iterator in turn until all are empty, so that a cap is shared fairly."""
    for row in itertools.zip_longest(*sources, fillvalue=_END):
        yield from (item for item in row if item is not _END)  # type: ignore[misc]


_END = object()
