"""What a test says about determinism having been asked for, and which places are reached only without."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from small_project import SmallProject

from torchrepro_lint.dataflow.intent import asked, depends_on, exclusive, mentions_flag, requested, unrequested


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("args.deterministic", True),
        ("not args.deterministic", False),
        ("args.seed is not None", True),
        ("args.seed is None", False),
        ("cfg['seed'] is None", False),
        ("cfg.get('reproducible', False)", True),
        ("is_deterministic()", True),
        ("args.deterministic == True", True),
        ("args.deterministic is False", False),
        ("seed == 0", "either"),
        ("seed < 0", "either"),
        ("args.nondeterministic", False),
        ("args.non_deterministic", False),
        ("run_deterministic", True),
        ("not nondeterministic", True),
        ("torch.cuda.is_available()", None),
        ("args.deterministic and args.cuda", True),
        ("args.cuda and not args.deterministic", False),
        ("args.benchmark", None),
        ("x > y", None),
    ],
)
def test_a_test_is_read_by_the_names_in_it(test: str, expected: object) -> None:
    assert asked(ast.parse(test, mode="eval").body) == expected


def test_a_flag_is_found_inside_an_expression() -> None:
    assert mentions_flag(ast.parse("bool(1 - args.deterministic)", mode="eval").body)
    assert not mentions_flag(ast.parse("args.benchmark or len(x)", mode="eval").body)


PLACES = """
    def main(args):
        if args.deterministic:
            wanted()
        else:
            unwanted()
        if args.cuda:
            neutral()
        if args.fast:
            if not args.seed:
                nested_unwanted()

    def after(args):
        if args.seed is not None:
            return
        left_before()

    def not_after(args):
        if args.seed is not None:
            wanted_first()
        always()

    def helper():
        at_every_caller()

    def first(args):
        if not args.deterministic:
            helper()

    def second(args):
        x = helper() if args.seed is None else 0

    def other():
        at_one_caller()

    def third(args):
        if not args.deterministic:
            other()
        other()
"""


@pytest.mark.parametrize(
    ("callee", "expected"),
    [
        ("wanted", False),
        ("unwanted", True),
        ("neutral", False),
        ("nested_unwanted", True),
        ("left_before", True),
        ("always", False),
        ("at_every_caller", True),
        ("at_one_caller", False),
    ],
)
def test_places_without_a_request(tmp_path: Path, callee: str, expected: bool) -> None:
    project = SmallProject(tmp_path, {"train.py": PLACES})
    node, scope = project.call(callee)
    assert unrequested(project.program, node, scope) is expected
    assert requested(scope.facts, node) is (callee in ("wanted", "wanted_first"))


def test_arms_of_one_branch_are_exclusive(tmp_path: Path) -> None:
    project = SmallProject(tmp_path, {"train.py": PLACES})
    facts = project.facts()
    wanted, unwanted, neutral = (project.call(name)[0] for name in ("wanted", "unwanted", "neutral"))
    assert exclusive(facts, wanted, unwanted)
    assert not exclusive(facts, wanted, neutral)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("if args.benchmark:\n    place()", True),
        ("if cfg['CUDNN_BENCHMARK']:\n    if args.cuda:\n        place()", True),
        ("if args.benchmark:\n    pass\nelse:\n    place()", False),
        ("if args.cuda:\n    place()", False),
        ("if args.cuda == 1:\n    place()", False),
        ("place()", False),
    ],
)
def test_a_place_depends_on_an_option_that_must_be_on(tmp_path: Path, text: str, expected: bool) -> None:
    project = SmallProject(tmp_path, {"train.py": text})
    assert depends_on(project.facts(), project.call("place")[0], "benchmark") is expected
