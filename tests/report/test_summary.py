"""The last lines, and the tables of --statistics."""

from __future__ import annotations

import json

import pytest
from findings_by_hand import finding, fix, rendered, result, span

from torchrepro_lint.engine import Result
from torchrepro_lint.model import Level, Safety
from torchrepro_lint.report import Context
from torchrepro_lint.report.statistics import render_json, render_table

A, B, C = (span(line, 1, line, 2) for line in (1, 2, 3))
TWO = {"train.py": "x\ny\nz\n", "data.py": "x\n"}


@pytest.mark.parametrize(
    ("made", "fixing", "summary"),
    [
        (result(), False, "No problems in 1 file.\n"),
        (result(files=TWO), False, "No problems in 2 files.\n"),
        (result(fixed=3), True, "Fixed 3 problems, none remain in 1 file.\n"),
        (result(finding(A)), False, "Found 1 problem in 1 file.\n"),
        (result(finding(A), finding(B), files=TWO), False, "Found 2 problems in 1 of 2 files.\n"),
        (
            result(finding(A, fix=fix()), finding(B, fix=fix()), finding(C, fix=fix(Safety.UNSAFE))),
            False,
            "Found 3 problems (2 fixable with --fix, 1 more with --unsafe-fixes) in 1 file.\n",
        ),
        (
            result(finding(A, fix=fix(Safety.UNSAFE))),
            False,
            "Found 1 problem (1 fixable with --unsafe-fixes) in 1 file.\n",
        ),
        (
            result(finding(A), finding(B, level=Level.NOTE), finding(C, level=Level.NOTE)),
            False,
            "Found 1 problem and 2 notes in 1 file.\n",
        ),
        (result(finding(A, level=Level.NOTE)), False, "Found 1 note in 1 file.\n"),
        (
            result(finding(A, fix=fix(Safety.UNSAFE)), fixed=1),
            True,
            "Fixed 1 problem, 1 remains in 1 file, 1 needs --unsafe-fixes.\n",
        ),
        (
            result(finding(A, fix=fix(Safety.UNSAFE)), finding(B, level=Level.NOTE), fixed=1, unsafe=True, files=TWO),
            True,
            "Fixed 1 problem, 1 problem and 1 note remain in 1 of 2 files.\n",
        ),
        (result(), True, "No problems in 1 file.\n"),
        (result(finding(A)), True, "Fixed 0 problems, 1 remains in 1 file.\n"),
    ],
)
def test_the_last_lines_say_how_much_was_found_and_what_can_be_done(made: Result, fixing: bool, summary: str) -> None:
    for output_format in ("full", "concise"):
        assert rendered(output_format, made, fixing=fixing).endswith(summary)


def _two_rules() -> Result:
    made = result(
        finding(A, code="TRP401", name="cudnn-benchmark"),
        finding(B, fix=fix()),
        finding(C, fix=fix(Safety.UNSAFE)),
    )
    made.statistics = {"TRP201": 2, "TRP401": 1, "programs given up on": 4}
    return made


def test_the_table_counts_by_rule_and_shows_other_counts() -> None:
    made = _two_rules()
    table = "".join(render_table(made, Context(False, 100, made.root, False)))
    assert table == (
        "2  TRP201  loader-without-generator  [*] 1\n"
        "1  TRP401  cudnn-benchmark\n"
        "programs given up on: 4\n"
        "Found 3 problems (1 fixable with --fix, 1 more with --unsafe-fixes) in 1 file.\n"
    )


def test_the_table_as_json() -> None:
    assert json.loads("".join(render_json(_two_rules()))) == [
        {"code": "TRP201", "name": "loader-without-generator", "count": 2, "fixable": 1},
        {"code": "TRP401", "name": "cudnn-benchmark", "count": 1, "fixable": 0},
    ]
