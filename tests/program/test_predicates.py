"""What a test says about determinism having been asked for, and which places are reached only without."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from small_project import SmallProject

from torchrepro_lint.dataflow.conditions import are_exclusive
from torchrepro_lint.rng.predicates import determinism, is_requested, is_unrequested, mentions_request, needs_option


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
        ("bool(args.seed)", True),
        ("(seed := args.seed) is None", False),
        ("args.deterministic == True", True),
        ("args.deterministic is False", False),
        ("args.deterministic is not True", False),
        ("seed == 0", "unclear"),
        ("not seed < 0", "unclear"),
        ("args.nondeterministic", False),
        ("args.non_deterministic", False),
        ("run_deterministic", True),
        ("not nondeterministic", True),
        ("torch.cuda.is_available()", None),
        ("args.benchmark", None),
        ("x > y", None),
    ],
)
def test_a_test_is_read_by_the_names_in_it(test: str, expected: object) -> None:
    assert determinism(ast.parse(test, mode="eval").body) == expected


def test_a_flag_is_found_inside_an_expression() -> None:
    assert mentions_request(ast.parse("bool(1 - args.deterministic)", mode="eval").body)
    assert not mentions_request(ast.parse("args.benchmark or len(x)", mode="eval").body)


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
        if args.deterministic and args.cuda:
            both()
        if args.cuda and not args.deterministic:
            one_unwanted()

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
        ("both", False),
        ("one_unwanted", True),
        ("left_before", True),
        ("always", False),
        ("at_every_caller", True),
        ("at_one_caller", False),
    ],
)
def test_places_without_a_request(tmp_path: Path, callee: str, expected: bool) -> None:
    project = SmallProject(tmp_path, {"train.py": PLACES})
    node, scope = project.call(callee)
    assert is_unrequested(node, scope, project.program) is expected
    assert is_requested(node, scope) is (callee in ("wanted", "both", "wanted_first"))


def test_arms_of_one_branch_are_exclusive(tmp_path: Path) -> None:
    project = SmallProject(tmp_path, {"train.py": PLACES})
    wanted, unwanted, neutral = (project.call(name) for name in ("wanted", "unwanted", "neutral"))
    assert are_exclusive(wanted, unwanted)
    assert not are_exclusive(wanted, neutral)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("if args.benchmark:\n    place()", True),
        ("if cfg['CUDNN_BENCHMARK']:\n    if args.cuda:\n        place()", True),
        ("if args.benchmark:\n    pass\nelse:\n    place()", False),
        ("if not args.benchmark:\n    pass\nelse:\n    place()", True),
        ("if args.cuda:\n    place()", False),
        ("if args.cuda == 1:\n    place()", False),
        ("place()", False),
    ],
)
def test_a_place_needs_an_option_that_must_be_on(tmp_path: Path, text: str, expected: bool) -> None:
    project = SmallProject(tmp_path, {"train.py": text})
    assert needs_option("benchmark", *project.call("place")) is expected
