import pytest
from hypothesis import given
from hypothesis import strategies as st

from treering_bench.metrics.answers import (
    edit_similarity,
    exact_match,
    normalised,
    rouge_l_recall,
    token_f1,
)

WORDS = st.lists(st.sampled_from(["cat", "sat", "mat", "dog", "ran"]), max_size=8)


def test_normalising_drops_case_punctuation_articles_and_spare_spaces() -> None:
    assert normalised("The  Cat, an  owl's\nA-team!") == "cat owls ateam"


def test_token_f1_of_a_hand_worked_answer() -> None:
    # Answer words: cat sat on mat (4); reference: cat sat (2); shared 2: P 2/4, R 2/2, F1 2/3.
    assert token_f1("The cat sat on the mat.", ["a cat sat"]) == pytest.approx(2 / 3)


def test_repeated_words_count_as_often_as_both_sides_have_them() -> None:
    assert token_f1("no no no", ["no"]) == pytest.approx(2 * 1 / (3 + 1))


def test_the_best_reference_counts() -> None:
    assert token_f1("Porto", ["Lisbon", "Porto, Portugal"]) == pytest.approx(2 / 3)
    assert exact_match("the Porto", ["Lisbon", "porto."]) == 1.0
    assert exact_match("Porto", ["Lisbon", "Porto, Portugal"]) == 0.0
    assert rouge_l_recall("Porto", ["Lisbon", "Porto"]) == 1.0


def test_two_answers_without_words_match_and_one_does_not() -> None:
    assert token_f1("the", ["a"]) == 1.0
    assert token_f1("", ["something"]) == 0.0


def test_rouge_l_recall_of_lins_example() -> None:
    # Lin (2004): "police killed the gunman" against "police kill the gunman": LCS 3 of 4;
    # "the gunman kill police": LCS 2 of 4.
    reference = ["police killed the gunman"]
    assert rouge_l_recall("police kill the gunman", reference) == pytest.approx(3 / 4)
    assert rouge_l_recall("the gunman kill police", reference) == pytest.approx(2 / 4)


def _naive_lcs(a: list[str], b: list[str]) -> int:
    if not a or not b:
        return 0
    if a[-1] == b[-1]:
        return 1 + _naive_lcs(a[:-1], b[:-1])
    return max(_naive_lcs(a[:-1], b), _naive_lcs(a, b[:-1]))


@given(WORDS, WORDS.filter(bool))
def test_rouge_l_recall_equals_the_recursive_definition(
    answer: list[str], reference: list[str]
) -> None:
    expected = _naive_lcs(answer, reference) / len(reference)
    assert rouge_l_recall(" ".join(answer), [" ".join(reference)]) == pytest.approx(expected)


def test_edit_similarity_of_kitten_and_sitting_is_four_sevenths() -> None:
    assert edit_similarity("kitten", "sitting") == pytest.approx(1 - 3 / 7)
    assert edit_similarity("", "") == 1.0
