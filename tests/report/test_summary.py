"""The last lines, and the tables of --statistics."""

from __future__ import annotations

import pytest
from findings_by_hand import finding, fix, rendered, result, span

from torchrepro_lint.engine import IN_BASELINE, Result
from torchrepro_lint.model import Certainty, Level, Safety
from torchrepro_lint.report.statistics import by_rule, others

A, B, C = (span(line, 1, line, 2) for line in (1, 2, 3))
TWO = {"train.py": "x\ny\nz\n", "data.py": "x\n"}


@pytest.mark.parametrize(
    ("made", "fixing", "summary"),
    [
        (result(), False, "No problems in 1 file.\n"),
        (result(files=TWO), False, "No problems in 2 files.\n"),
        (result(fixed=3), True, "Fixed 3 problems, none remain in 1 file.\n"),
        (result(finding(A)), False, "Found 1 certain problem in 1 file.\n"),
        (result(finding(A), finding(B), files=TWO), False, "Found 2 certain problems in 1 of 2 files.\n"),
        (
            result(finding(A, fix=fix()), finding(B, fix=fix()), finding(C, fix=fix(Safety.UNSAFE))),
            False,
            "Found 3 certain problems (2 fixable with --fix, 1 more with --unsafe-fixes) in 1 file.\n",
        ),
        (
            result(finding(A, fix=fix(Safety.UNSAFE))),
            False,
            "Found 1 certain problem (1 fixable with --unsafe-fixes) in 1 file.\n",
        ),
        (
            result(finding(A), finding(B, level=Level.NOTE), finding(C, level=Level.NOTE)),
            False,
            "Found 1 certain problem and 2 notes in 1 file.\n",
        ),
        (result(finding(A, level=Level.NOTE)), False, "Found 1 note in 1 file.\n"),
        (
            result(finding(A), finding(B, certainty=Certainty.LIKELY), finding(C, level=Level.NOTE)),
            False,
            "Found 1 certain and 1 likely problems, and 1 note in 1 file.\n",
        ),
        (
            result(finding(A, fix=fix(Safety.UNSAFE)), fixed=1),
            True,
            "Fixed 1 problem, 1 remains in 1 file, 1 needs --unsafe-fixes.\n",
        ),
        (
            result(finding(A, fix=fix(Safety.UNSAFE)), finding(B, level=Level.NOTE), fixed=1, unsafe=True, files=TWO),
            True,
            "Fixed 1 problem, 1 certain problem and 1 note remain in 1 of 2 files.\n",
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
    return made._replace(statistics={"TRP201": 2, "TRP401": 1, "programs given up on": 4})


def test_the_table_counts_by_rule_and_certainty_and_shows_other_counts() -> None:
    assert "".join((*by_rule(_two_rules()), *others(_two_rules()))) == (
        "2  TRP201  loader-without-generator  2 certain  [*] 1\n"
        "1  TRP401  cudnn-benchmark           1 certain\n"
        "programs given up on: 4\n"
    )


def test_statistics_come_after_the_findings() -> None:
    report = rendered("concise", _two_rules(), statistics=True)
    assert report.index("train.py:1:1") < report.index("2  TRP201") < report.index("Found 3 certain problems")


def test_a_quiet_report_has_the_findings_alone() -> None:
    made = result(*(finding(span(line, 1, line, 2)) for line in range(1, 8)))
    lines = rendered("grouped", made, quiet=True).splitlines()
    assert lines[0] == "train.py:"
    assert [line.split()[1] for line in lines[1:-1]] == ["TRP201"] * 7
    assert lines[-1] == ""


def test_where_there_is_much_to_do_it_says_what_to_do_first() -> None:
    safe = [finding(span(line, 1, line, 2), fix=fix()) for line in (1, 2)]
    hard = [finding(span(line, 1, line, 2), code="TRP101", name="unseeded-program") for line in (3, 4)]
    rare = finding(span(5, 1, 5, 2), code="TRP204", name="unsorted-listing", certainty=Certainty.LIKELY)
    assert rendered("full", result(*safe, *hard, rare)).endswith(
        "\nFirst: --fix mends 2 of these, and --diff shows how.\n"
        "Then: TRP101 unseeded-program (2) and TRP204 unsorted-listing (1); `torchrepro-lint rule TRP101` says what to "
        "write instead.\n"
        "`torchrepro-lint explain train.py` shows where that program seeds and draws.\n"
        "Found 4 certain and 1 likely problems (2 fixable with --fix) in 1 file.\n"
    )


def test_many_findings_are_counted_by_rule_and_certainty_unasked() -> None:
    made = result(*(finding(span(line, 1, line, 2)) for line in range(1, 11)))
    assert "\n10  TRP201  loader-without-generator  10 certain\nFirst: TRP201 " in rendered("full", made)
    assert "10  TRP201" not in rendered("concise", made)


def test_who_finds_too_much_hears_of_baselines() -> None:
    made = result(*(finding(span(line, 1, line, 2)) for line in range(1, 51)))
    assert "Too many for now: --write-baseline FILE lists them" in rendered("full", made)
    made = made._replace(left_out={IN_BASELINE: ()})
    assert "--write-baseline" not in rendered("full", made)


def test_findings_in_files_that_were_not_given_are_counted_apart() -> None:
    elsewhere = finding(A, path="train.py"), finding(A, path="eval.py")
    assert rendered("concise", result(*elsewhere, files={"data.py": "x\n"})).endswith(
        "\nFound 2 certain problems in 2 files besides the one given.\n"
    )
    assert rendered("concise", result(*elsewhere, files=TWO)).endswith(
        "\nFound 2 certain problems in 1 of 2 files and in 1 file besides the 2 given.\n"
    )


def test_what_is_left_out_is_counted() -> None:
    made = result(finding(A))
    made = made._replace(left_out={"in the baseline": (finding(B), finding(C)), "less certain than asked for": ()})
    assert rendered("concise", made).endswith("Found 1 certain problem in 1 file. Left out: 2 in the baseline.\n")
