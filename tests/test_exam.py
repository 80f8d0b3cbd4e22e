"""The exam's scorer: what is found, what is a false alarm, and what counts neither way."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import scoring
import tools
from scoring import Label, Report, Repository, Score

LABELS = Path(__file__).parents[1] / "benchmarks" / "exam" / "labels"


def label(line: int, category: str = "fs-order", confidence: str = "sure", **more: object) -> Label:
    places = frozenset({("a.py", line)})
    return Label("a.py", line, category, confidence, "a claim", places=places, **more)  # type: ignore[arg-type]


def report(line: int, category: str = "fs-order", path: str = "a.py", **more: object) -> Report:
    return Report(category, path, line, line, **more)  # type: ignore[arg-type]


def scored(labels: list[Label], reports: list[Report]) -> Score:
    result = Score()
    scoring.score(Repository("o/r", "0" * 40, frozenset({"a.py"}), tuple(labels)), reports, result)
    return result


def total(labels: list[Label], reports: list[Report]) -> tuple[int, int, int, int]:
    count = scored(labels, reports).total
    return count.found, count.labels, count.right, count.judged


def test_a_report_on_a_label_is_found_and_right_and_any_other_is_a_false_alarm() -> None:
    assert total([label(1), label(2)], [report(1), report(9)]) == (1, 2, 1, 2)
    result = scored([label(1), label(2)], [report(1), report(9)])
    assert result.missed == ["o/r a.py:2 fs-order: a claim"]
    assert result.false == ["o/r a.py:9 fs-order: "]


def test_a_report_may_name_the_place_among_others_and_reach_over_lines() -> None:
    assert total([label(5)], [report(9, related=(("a.py", 5),))]) == (1, 1, 1, 1)
    assert total([label(5)], [Report("fs-order", "./a.py", 3, 7)]) == (1, 1, 1, 1)


def test_debatable_labels_need_not_be_found_and_excuse_a_report() -> None:
    assert total([label(1, confidence="debatable")], []) == (0, 0, 0, 0)
    assert total([label(1, confidence="debatable")], [report(1)]) == (0, 0, 0, 0)
    assert total([label(1, "NOT-fs-order", "debatable")], [report(1)]) == (0, 0, 0, 0)


def test_a_report_on_a_negative_is_a_false_alarm() -> None:
    assert total([label(1, "NOT-fs-order")], [report(1)]) == (0, 0, 0, 1)


def test_files_that_were_not_read_completely_say_nothing_of_precision() -> None:
    assert total([], [report(1, path="other.py")]) == (0, 0, 0, 0)


def test_categories_with_one_label_for_a_program_want_the_file_only_and_the_family() -> None:
    missing = label(1, "seed-missing", family="torch")
    assert total([missing], [report(40, "seed-missing", families=frozenset({"torch"}))]) == (1, 1, 1, 1)
    assert total([missing], [report(40, "seed-missing")]) == (1, 1, 1, 1)
    assert total([missing], [report(40, "seed-missing", families=frozenset({"numpy"}))]) == (0, 1, 0, 1)


def test_a_convolution_is_no_matter_of_operations() -> None:
    assert total([], [report(1, "nondet-op", message="Conv2d")]) == (0, 0, 0, 0)


def test_torchdetscan_s_tables_are_read_with_names_that_run_over_lines(tmp_path: Path) -> None:
    title = f"✅ {tmp_path}/b.py: none\n\n  {tmp_path}/mod\n  els.py \n"
    drawn = title + "┏━━┓\n┃ Function ┃ Line ┃\n┡━━┩\n│ CTCLoss │   17 │ 4 │\n└──┘\n"
    (found,) = tools.read_torchdetscan(drawn, tmp_path)
    assert (found.category, found.path, found.line) == ("nondet-op", "models.py", 17)


@pytest.mark.parametrize("path", sorted(LABELS.glob("*.json")), ids=lambda path: path.stem)
def test_every_label_has_a_category_a_confidence_and_a_claim(path: Path) -> None:
    for repository in scoring.read_labels(path):
        assert len(repository.commit) == 40
        for one in repository.labels:
            assert one.category.removeprefix("NOT-") in scoring.CATEGORIES
            assert one.confidence in {"sure", "likely", "debatable"}
            assert one.claim
            assert one.line >= 1


def test_every_code_of_every_tool_claims_a_category_of_the_taxonomy() -> None:
    claimed = {
        *tools.OURS.values(),
        *(category for category, _ in (*tools.DSLINTER.values(), *tools.NUMPY_LEGACY.values())),
    }
    rules = (LABELS.parent / "semgrep.yml").read_text(encoding="utf-8")
    claimed |= {
        text.split("category: ")[1].split("}")[0].split(",")[0] for text in rules.splitlines() if "{category:" in text
    }
    assert claimed <= set(scoring.CATEGORIES)


def test_the_labels_are_read_as_they_are_written(tmp_path: Path) -> None:
    row = {"file": "a.py", "line": 3, "category": "fs-order", "confidence": "sure", "claim": "c", "also": [["b.py", 4]]}
    record = {"repository": "o/r", "commit": "1" * 40, "examined": ["a.py"], "labels": [row]}
    (tmp_path / "x.json").write_text(json.dumps([record]), encoding="utf-8")
    (repository,) = scoring.read_labels(tmp_path / "x.json")
    assert repository.folder == "o__r"
    assert repository.labels[0].places == {("a.py", 3), ("b.py", 4)}


def test_the_page_has_every_set_and_counts_the_repositories() -> None:
    page = (LABELS.parents[2] / "docs" / "comparison.md").read_text()
    sizes = {path.stem: len(json.loads(path.read_text())) for path in LABELS.glob("*.json")}
    unseen = {name: size for name, size in sizes.items() if name not in ("first", "second")}
    rows = re.findall(r"^\| `([\w-]+)`, [\d-]+ \| (\d+) \|", page, re.MULTILINE)
    assert {name: int(size) for name, size in rows} == unseen
    assert f"is {sum(sizes.values())} public repositories" in page
    assert f"has {len(unseen)} sets of them, {sum(unseen.values())} repositories" in page
