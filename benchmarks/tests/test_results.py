import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from treering.errors import InputError
from treering_bench.results import QuestionResult, Results, read, this_run

RUN = this_run("locomo", "0" * 64, seed=0, settings={"level": "evidence"})


def line(question: str, policy: str = "dense", recall: float = 0.5) -> QuestionResult:
    return QuestionResult(policy, "chat", question, "temporal", {"recall@10": recall})


def test_what_is_added_is_read_back_with_its_header(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "locomo.jsonl"
    with Results(path, RUN) as results:
        results.add(line("1"))
        results.add(line("2", recall=1 / 3))
    run, lines = read(path)
    assert run == RUN
    assert lines == [line("1"), line("2", recall=0.333333)]


def test_a_packed_results_file_reads_the_same(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with Results(path, RUN) as results:
        results.add(line("1"))
    packed = tmp_path / "r.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read(packed) == read(path)


def test_a_second_run_continues_and_knows_what_is_measured(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with Results(path, RUN) as results:
        results.add(line("1"))
    with Results(path, replace(RUN, started="later")) as results:
        assert ("dense", "chat", "1") in results
        assert ("dense", "chat", "2") not in results
        results.add(line("2"))
    run, lines = read(path)
    assert run.started == RUN.started
    assert [measured.question for measured in lines] == ["1", "2"]


def test_a_half_written_line_is_dropped_and_measured_again(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with Results(path, RUN) as results:
        results.add(line("1"))
        results.add(line("2"))
    path.write_bytes(path.read_bytes()[:-20])
    with Results(path, RUN) as results:
        assert ("dense", "chat", "2") not in results
        results.add(line("2"))
    assert len(read(path)[1]) == 2


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (replace(RUN, commit="abc"), "commit"),
        (replace(RUN, data_sha256="1" * 64), "data_sha256"),
        (replace(RUN, settings={"level": "answers"}), "settings"),
    ],
)
def test_lines_of_another_run_never_mix(tmp_path: Path, change: object, named: str) -> None:
    path = tmp_path / "r.jsonl"
    with Results(path, RUN) as results:
        results.add(line("1"))
    before = path.read_bytes()
    with pytest.raises(InputError, match=f"another {named}; give another --out"):
        Results(path, change)  # type: ignore[arg-type]
    assert path.read_bytes() == before
