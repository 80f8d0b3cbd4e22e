"""Evidence read back: its words, and the words for a file that is not in form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from evidence_file import document, row, write
from torchrepro_lint.cards import rules_dir
from torchrepro_lint.evidence import Evidence, EvidenceError, read, shipped

SCHEMA = json.loads((Path(__file__).parents[1] / "docs" / "schemas" / "evidence.schema.json").read_text())


@pytest.mark.parametrize("part", ["schema", "environment", "rows"])
def test_the_schema_knows_the_file_of_these_tests_and_asks_for_its_parts(part: str) -> None:
    whole = document(row("put", "CONFIRMED"), row("put", "NOT_REPRODUCED", distinct=1))
    jsonschema.validate(whole, SCHEMA)
    del whole[part]
    with pytest.raises(jsonschema.ValidationError, match=f"'{part}' is a required property"):
        jsonschema.validate(whole, SCHEMA)


def test_what_ships_is_in_form() -> None:
    files = sorted((rules_dir() / "catalogue" / "evidence").glob("*.json"))
    for file in files:
        jsonschema.validate(json.loads(file.read_text(encoding="utf-8")), SCHEMA)
    assert not [item for item in shipped() if item.is_own]


@pytest.mark.parametrize(
    "measured, words",
    [
        (row("put", "CONFIRMED"), "20 runs gave 20 different results, deterministic path 1.8x slower"),
        (
            row("put", "CONFIRMED", outcome="raises"),
            "20 runs gave 20 different results, raises under deterministic algorithms",
        ),
        (
            row("put", "STILL_DIFFERS_IN_DET_MODE", distinct=2, outcome="still_differs"),
            "20 runs gave 2 different results, differs under deterministic algorithms too",
        ),
        (
            row("put", "NOT_REPRODUCED", distinct=1, outcome="same"),
            "all 20 runs agreed (so at most 15 % do not, 95 % sure)",
        ),
    ],
)
def test_a_measurement_in_words(tmp_path: Path, measured: dict[str, Any], words: str) -> None:
    (item,) = read(write(tmp_path / "e.json", document(measured)))
    assert item.words == f"your own measurement on NVIDIA Test 1, torch 2.11: {words}"
    (item,) = read(write(tmp_path / "e.json", document(measured)), is_own=False)
    assert item.words == f"measured on NVIDIA Test 1, torch 2.11: {words}"


@pytest.mark.parametrize(
    "pace, words", [(0.5, "2.0x faster"), (0.025, "40x faster"), (1.01, "as fast"), (1.06, "1.1x slower")]
)
def test_the_pace_of_the_deterministic_path(tmp_path: Path, pace: float, words: str) -> None:
    measured = row("put", "CONFIRMED")
    measured["deterministic"]["slowdown"]["median"] = pace
    (item,) = read(write(tmp_path / "e.json", document(measured)))
    assert item.words.endswith(f", deterministic path {words}")


def test_a_cpu_is_named_for_what_ran_on_it_and_what_did_not_run_is_left_out(tmp_path: Path) -> None:
    rows = [row("put", "CONFIRMED", device="cpu"), row("take", "NOT_EXERCISED"), row("cumsum", "UNSUPPORTED")]
    (item,) = read(write(tmp_path / "e.json", document(*rows, gpu=None)))
    assert (item.id, item.machine) == ("put", "Test CPU")
    assert item.words.startswith("your own measurement on a CPU (Test CPU), torch 2.11: 20 runs gave")
    (item,) = read(write(tmp_path / "e.json", document(*rows, cpu=None)))
    assert item.machine == "an unknown CPU"


def test_own_measurements_come_before_those_that_ship(tmp_path: Path) -> None:
    own = read(write(tmp_path / "e.json", document(row("cumsum", "CONFIRMED"))))
    assert Evidence(own).of("cumsum")[0] is own[0]
    assert Evidence(own).of("cumsum")[1:] == Evidence().of("cumsum")


def broken(**changes: Any) -> dict[str, Any]:
    return document({**row("put", "CONFIRMED"), **changes})


@pytest.mark.parametrize(
    "content, problem",
    [
        ([], "is no evidence: it has no schema"),
        ({"rows": []}, "is no evidence: it has no schema"),
        ({**document(), "schema": 2}, "schema: is 2, this version reads 1"),
        ({**document(), "rows": {}}, "rows: must be a list"),
        ({**document(), "rows": [1]}, "rows[0]: must be an object"),
        (document(row("put", "MAYBE")), "rows[0].verdict: 'MAYBE' is none of CONFIRMED, "),
        (broken(device="tpu"), "rows[0].device: 'tpu' is none of cuda, cpu"),
        (broken(id=None), "rows[0].id: is missing"),
        (broken(repeats="20"), "rows[0].repeats: must be a whole number"),
        (broken(distinct=True), "rows[0].distinct: must be a whole number"),
        (broken(upper_bound="low"), "rows[0].upper_bound: must be a number"),
        (broken(deterministic={"outcome": "?"}), "rows[0].deterministic.outcome: '?' is none of raises, "),
        (
            broken(deterministic={"outcome": "switches", "slowdown": {"median": "slow"}}),
            "rows[0].deterministic.slowdown.median: must be a number",
        ),
        (
            broken(deterministic={"outcome": "switches", "slowdown": 2}),
            "rows[0].deterministic.slowdown: must be an object",
        ),
        (document(row("put", "CONFIRMED"), gpu=1), "environment.gpu: must be a text"),
        (document(row("put", "CONFIRMED"), torch=None), "environment.torch: is missing"),
    ],
)
def test_a_file_that_is_not_in_form(tmp_path: Path, content: object, problem: str) -> None:
    file = write(tmp_path / "e.json", content)
    with pytest.raises(EvidenceError) as caught:
        read(file)
    assert str(caught.value).startswith(f"{file}: {problem}")


@pytest.mark.parametrize("data, problem", [(b'{"a": 1,\n  ]', ":2:3: broken JSON"), (b"\xff", ": is not UTF-8")])
def test_a_file_that_is_no_json(tmp_path: Path, data: bytes, problem: str) -> None:
    file = tmp_path / "e.json"
    file.write_bytes(data)
    with pytest.raises(EvidenceError) as caught:
        read(file)
    assert str(caught.value).startswith(f"{file}{problem}")
