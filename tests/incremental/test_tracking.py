"""What a file's findings are said to rest on is all that they do: a fresh look at the file asks nothing else."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from incremental.projects import write_project
from torchrepro_lint import cards
from torchrepro_lint.engine import Outcome, Request, Run
from torchrepro_lint.settings import SettingsResolver
from torchrepro_lint.source import source_from_text
from torchrepro_lint.tracking import FEW, Memo, Question, Tracker, bits, bits_of, numbers


def tracked(root: Path) -> Run:
    return Run(Request((root,), SettingsResolver(cards.codes(), isolated=True), root=root, jobs=None))


def asked(run: Run, path: Path) -> set[Question]:
    outer = run.tracker.begin()
    run.check_file(path)
    return set(run.tracker.questions(run.tracker.end(outer)))


def test_a_file_that_is_looked_at_alone_asks_nothing_else(tmp_path: Path) -> None:
    root = write_project(tmp_path / "project")
    together = tracked(root)
    for path in together.files:
        rests = asked(together, path)
        alone = tracked(root)
        assert asked(alone, path) <= rests
        assert all(alone.tracker.answers[question] == together.tracker.answers[question] for question in rests)


def test_an_answer_passes_on_what_it_rests_on() -> None:
    tracker = Tracker()
    memo: Memo[int] = Memo(tracker)

    def inner() -> int:
        tracker.note(("code", "a"), "1")
        return 1

    outer = tracker.begin()
    memo.get("x", inner)
    first = tracker.end(outer)
    outer = tracker.begin()
    memo.get("x", inner)
    assert tracker.end(outer) == first
    assert tracker.questions(first) == [("code", "a")]


@pytest.mark.parametrize("inner, outer", [(1, 1), (FEW, 1), (FEW + 1, 1), (1, FEW), (FEW + 1, FEW + 1)])
def test_a_set_of_questions_is_the_same_whatever_its_form(inner: int, outer: int) -> None:
    tracker = Tracker()
    memo: Memo[None] = Memo(tracker)
    inside, outside = ([(kind, str(n)) for n in range(many)] for kind, many in (("code", inner), ("text", outer)))

    def ask(questions: list[Question]) -> None:
        for question in questions:
            tracker.note(question, "1")

    for work in (lambda: ask(inside), lambda: pytest.fail("it is known")):
        begun = tracker.begin()
        ask(outside)
        memo.get("x", work)
        rests = tracker.end(begun)
        assert set(tracker.questions(rests)) == {*inside, *outside}
        assert tracker.current == bits_of(rests) == bits(range(inner + outer))
    begun = tracker.begin()
    memo.get("x", lambda: None)
    assert set(tracker.questions(tracker.end(begun))) == set(inside)


SAME = [
    ("x = 1\n", "# why\nx = 1  # because\n\n"),
    ("def f():\n    return '#1'\n", "def f():\n\n    # of it\n    return '#1'  # no\n"),
    ('x = """\n# in\n\n"""\n', '# out\nx = """\n# in\n\n"""\n'),
    ('x = 1\n  \n\f\ny = """\n"""\n', 'x = 1  \ny = """\n""" \t\n'),
    ("x = [\n    1,\n]\n", "x = [  # of numbers\n    1,\n    # the last one\n]"),
    ("x = 1 + \\\n    2\n", "# a sum\n\nx = 1 + \\\n    2  # of two\n"),
]
OTHER = [
    ("x = 1\n", "x = 2\n"),
    ("x = '# a'\n", "x = '# b'\n"),
    ('x = """\n# a\n"""\n', 'x = """\n# b\n"""\n'),
    ('x = """\n\n"""\n', 'x = """\n"""\n'),
    ("x = 1 \\\n\n-1\n", "x = 1 \\\n-1\n"),
    ("x = 1 \\\n  \n-1\n", "x = 1 \\\n-1\n"),
    ("x = 1 \\\n# a\n-1\n", "x = 1 \\\n-1\n"),
    ("x = 1 \\ \n-1\n", "x = 1 \\\n-1\n"),  # an error
    ("x = 1 \\ # a\n-1\n", "x = 1 \\\n-1\n"),
    ('x = """\n"""\n', 'x = """ \n"""\n'),
    ("x = 'a' 'b'\n", "x = 'b' 'a'\n"),
    ("x = 'a', b\n", "x = b, 'a'\n"),
    ("x = 1\n", " x = 1\n"),
    ("x = 1\n", "x =  1\n"),
    ("f'{d[\"#a\"]}'\n", "f'{d[\"#b\"]}'\n"),
    ('f"{d["#a"]}"\n', 'f"{d["#b"]}"\n'),
    ("f\"{d['''#a''']}\" # '''\ny = '#1'\n", "f\"{d['''#a''']}\" # '''\ny = '#2'\n"),
]


def code(text: str) -> str:
    return source_from_text(text, Path("/a.py"), "a.py").code_digest


@pytest.mark.parametrize("one, other", SAME)
def test_comments_and_empty_lines_are_no_code(one: str, other: str) -> None:
    assert code(one) == code(other)


if sys.version_info < (3, 12):  # no Python before
    OTHER = [pair for pair in OTHER if pair[0] != 'f"{d["#a"]}"\n']


@pytest.mark.parametrize("one, other", OTHER)
def test_all_else_is(one: str, other: str) -> None:
    assert code(one) != code(other)


@pytest.mark.parametrize("members", [[], [0], [0, 1, 63, 64], [7, 20_000]])
def test_a_set_of_questions_is_a_number(members: list[int]) -> None:
    assert bits(members) == sum(1 << number for number in members)
    assert list(numbers(bits(reversed(members)))) == members


def test_what_another_process_asked_has_a_number_of_its_own_here(tmp_path: Path) -> None:
    """Two processes that number alike what they ask in another order, and one that begins anew."""
    run = tracked(write_project(tmp_path / "project"))
    path = run.files[0]
    for worker, told, rests, questions, expected in (
        (1, 0, 0b11, "ab", ["a", "b"]),
        (2, 0, 0b01, "ba", ["b"]),
        (1, 2, 0b101, "c", ["a", "c"]),
        (2, 0, 0b1, "d", ["d"]),
    ):
        there = [((question,), 1) for question in questions]
        outer = run.tracker.begin()
        run._taken(path, Outcome([], [], [], worker, rests, told, there, {}))
        assert [question for (question,) in run.tracker.questions(run.tracker.end(outer))] == expected


def test_what_a_program_keeps_of_its_generators_rests_on_no_comment(tmp_path: Path) -> None:
    (tmp_path / "states.py").write_text(
        "import torch\n\n\n"
        "def kept():\n    return torch.get_rng_state()\n\n\n"
        "def put_back(state):\n    torch.set_rng_state(state)  # and no numpy.random.set_state\n"
    )
    (tmp_path / "train.py").write_text(
        "import torch\n\nfrom states import kept, put_back\n\n"
        "torch.manual_seed(0)\nmodel = torch.nn.Linear(4, 1)\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "if torch.cuda.is_available():\n"
        "    last = torch.load('last.pt')\n    model.load_state_dict(last['model'])\n    put_back(last['rng'])\n"
        "for epoch in range(10):\n    model(torch.rand(8, 4)).sum().backward()\n    optimizer.step()\n"
        "    torch.save({'model': model.state_dict(), 'epoch': epoch, 'rng': kept()}, 'last.pt')\n"
    )
    run = tracked(tmp_path)
    rests = asked(run, tmp_path / "train.py")
    about = {kind for kind, *of in rests if of and of[0] == str(tmp_path / "states.py")}
    assert {"code", "matches"} <= about
    assert "text" not in about


def test_a_function_rests_on_nothing_that_its_caller_runs_besides(tmp_path: Path) -> None:
    for name in ("crop", "flip"):
        (tmp_path / f"{name}s.py").write_text(f"import torch\n\n\ndef {name}():\n    return torch.rand(1)\n")
    (tmp_path / "both.py").write_text(
        "from crops import crop\nfrom flips import flip\n\n\ndef both():\n    return crop(), flip()\n\n\nboth()\n"
    )
    (tmp_path / "one.py").write_text("from flips import flip\n\nflip()\n")
    run = tracked(tmp_path)
    assert ("code", str(tmp_path / "crops.py")) in asked(run, tmp_path / "both.py")
    rests = asked(run, tmp_path / "one.py")
    assert ("code", str(tmp_path / "flips.py")) in rests
    assert ("code", str(tmp_path / "crops.py")) not in rests


def test_a_function_does_not_rest_on_one_of_the_same_name_that_another_file_hands_over(tmp_path: Path) -> None:
    program = (
        "import torch\n\n\ndef train():\n    torch.manual_seed({seed})\n"
        "    return torch.utils.data.DataLoader([], shuffle=True)\n\n\n"
        "if __name__ == '__main__':\n    train()\n"
    )
    for seed, name in enumerate(("one", "other")):
        (tmp_path / f"{name}.py").write_text(program.format(seed=seed))
    (tmp_path / "launcher.py").write_text("from launching import launch\nfrom other import train\n\nlaunch(train)\n")
    run = tracked(tmp_path)
    code, other = ("code", str(tmp_path / "launcher.py")), ("code", str(tmp_path / "other.py"))
    assert not {code, other} & set(asked(run, tmp_path / "one.py"))
    assert {code, other} <= set(asked(run, tmp_path / "other.py"))
