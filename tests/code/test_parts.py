"""CodeReading-bearing parts, comparable under renaming and reshaping."""

from __future__ import annotations

from treering.views.code.parse.parts import CodeReading, read_definition

SOURCE = '''\
@cached
def scale(values, factor=2, *rest):
    """Scale."""
    if not isinstance(values, list):
        raise TypeError("values must be a list")
    scaled = [value * factor for value in values]
    values.count = len(scaled)
    return scaled
'''


def read(source: str, name: str = "scale", language: str = "python") -> CodeReading:
    found = read_definition(source, name, language)
    assert found is not None
    return found


def texts(source: str, kind: str) -> list[str]:
    return [part.text for part in read(source).parts if part.kind == kind]


def test_every_sort_of_part_is_found() -> None:
    assert texts(SOURCE, "guard") == ["TypeError if not isinstance ( p0 , list )"]
    assert texts(SOURCE, "raise") == ["TypeError"]
    assert texts(SOURCE, "default") == ["2"]
    assert texts(SOURCE, "decorator") == ["@ cached"]
    assert texts(SOURCE, "return") == ["return _"]
    assert texts(SOURCE, "effect") == ["p0 . count"]
    assert texts(SOURCE, "call") == ["isinstance", "TypeError", "len"]
    assert texts(SOURCE, "branch") == ["not isinstance ( p0 , list )"]


def test_lines_are_those_of_the_source() -> None:
    guard = next(part for part in read(SOURCE).parts if part.kind == "guard")
    assert (guard.first_line, guard.last_line) == (5, 5)


def test_renaming_parameters_and_variables_changes_nothing() -> None:
    renamed = SOURCE.replace("values", "items").replace("scaled", "out").replace("factor", "by")
    assert read(renamed).bag() == read(SOURCE).bag()


def test_a_renamed_attribute_is_another_effect() -> None:
    other = SOURCE.replace("values.count", "values.total")
    assert read(other).bag("effect") != read(SOURCE).bag("effect")


def test_order_and_nesting_do_not_matter() -> None:
    flat = "def scale(a):\n    b(a)\n    if a:\n        c(a)\n"
    nested = "def scale(a):\n    if a:\n        c(a)\n        b(a)\n"
    assert read(flat).bag() == read(nested).bag()


def test_the_last_definition_of_a_name_counts() -> None:
    assert read("def scale(a):\n    return 1\n" + SOURCE).bag() == read(SOURCE).bag()


def test_a_definition_that_is_not_there_has_no_behaviour() -> None:
    assert read_definition(SOURCE, "shrink", "python") is None
