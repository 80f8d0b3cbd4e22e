"""The tests that are known at a place, and what they say of a value there."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest
from small_project import SmallProject

from torchrepro_lint.dataflow.conditions import (
    are_exclusive,
    conditions,
    equal_to,
    everywhere,
    is_dead,
    unequal_to,
    written,
)

KNOWN = {
    "place()": [],
    "if a:\n    if not b:\n        place()": ["not b", "a"],
    "if a and not b:\n    place()": ["a", "not b"],
    "if a and not b:\n    pass\nelse:\n    place()": ["not (a and not b)"],
    "if a or b:\n    place()": ["a or b"],
    "if not (a or not b):\n    place()": ["not a", "b"],
    "if place():\n    pass": [],
    "if a:\n    pass\nelif b:\n    place()": ["b", "not a"],
    "x = a and place() and b": ["a"],
    "x = a or not b or place()": ["not a", "b"],
    "x = (a and b) or place()": ["not (a and b)"],
    "x = 1 if a else place()": ["not a"],
    "x = [place() for c in d if a if b]": ["a", "b"],
    "x = [y for c in d if a if place()]": ["a"],
    "x = [y for c in d if a for e in place()]": ["a"],
    "x = {place(): 1 for c in d if a}": ["a"],
    "x = lambda: a and place()": ["a"],
    "if a:\n    x = lambda: place()": ["a"],
    "if a:\n    return\nplace()": ["not a"],
    "if a:\n    pass\n    return\nelse:\n    if b:\n        raise E\nplace()": ["not a", "not b"],
    "for c in d:\n    if a:\n        continue\n    if b:\n        break\n    place()": ["not b", "not a"],
    "for c in d:\n    if a:\n        break\nplace()": [],
    "for c in d:\n    if a:\n        return\nplace()": [],
    "try:\n    if a:\n        raise E\nexcept E:\n    pass\nplace()": [],
    "try:\n    if a:\n        raise E\nexcept E:\n    return\nplace()": ["not a"],
    "try:\n    assert a\nexcept E:\n    pass\nelse:\n    place()": ["a"],
    "try:\n    assert a\nexcept E:\n    place()": [],
    "try:\n    assert a\nfinally:\n    place()": [],
    "try:\n    assert a\nfinally:\n    pass\nplace()": ["a"],
    "with suppress(E):\n    if a:\n        raise E\nplace()": [],
    "with suppress(E):\n    if a:\n        return\nplace()": ["not a"],
    "assert a and b\nplace()": ["a", "b"],
    "if a:\n    exit()\nplace()": ["not a"],
    "if a:\n    os._exit(1)\nplace()": ["not a"],
    "if a:\n    os.system(1)\nplace()": [],
    "while a:\n    place()": ["a"],
    "while place():\n    pass": [],
    "while a:\n    b()\nplace()": ["not a"],
    "while a:\n    for c in d:\n        break\nplace()": ["not a"],
    "while a:\n    for c in d:\n        pass\n    else:\n        break\nplace()": [],
    "while a:\n    if b:\n        break\nelse:\n    place()": ["not a"],
    "match a:\n    case 1:\n        place()": ["a == 1"],
    "if a[0] is None or (b or c) == 1:\n    pass\nelse:\n    place()": ["a[0] is not None", "not ((b or c) == 1)"],
    "match a:\n    case 1:\n        pass\n    case None:\n        place()": ["a is None", "a != 1"],
    "match a:\n    case 1 | 2:\n        pass\n    case _:\n        place()": ["a != 1", "a != 2"],
    "match a:\n    case 1 if b:\n        pass\n    case x:\n        place()": ["not (a == 1 and b)"],
    "match a:\n    case _ if b:\n        place()": ["b"],
    "match a:\n    case 1 if place():\n        pass": ["a == 1"],
    "match a:\n    case [1, x]:\n        place()": ["match(a)"],
    "match a:\n    case 1:\n        return\n    case 2:\n        raise E\nplace()": ["a != 1", "a != 2"],
    "match a:\n    case 1:\n        pass\n    case _:\n        return\nplace()": ["a == 1"],
    "match a:\n    case 1:\n        pass\n    case 2:\n        return\nplace()": [],
    "if a:\n    match b:\n        case 1:\n            quit()\n        case _:\n            raise E\nplace()": [
        "not a"
    ],
    "if a:\n    def inner():\n        place()": [],
    "if a:\n    class Inner:\n        x = place()": ["a"],
}


def _project(folder: Path, body: str) -> SmallProject:
    return SmallProject(folder, {"train.py": "def main():\n" + textwrap.indent(body, "    ")})


@pytest.mark.parametrize(("body", "expected"), KNOWN.items())
def test_what_is_known_at_a_place(tmp_path: Path, body: str, expected: list[str]) -> None:
    project = _project(tmp_path, body)
    assert [written(c, project.facts()) for c in conditions(*project.call("place"))] == expected


def test_the_guard_of_a_program_is_no_condition(tmp_path: Path) -> None:
    project = SmallProject(tmp_path, {"train.py": "if __name__ == '__main__':\n    place()"})
    assert conditions(*project.call("place")) == ()


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if a:\n    one()\nelse:\n    two()", True),
        ("if a:\n    one()\ntwo()", False),
        ("if a:\n    one()\n    return\ntwo()", True),
        ("if a:\n    one()\nif a:\n    two()", False),
        ("x = one() if a else two()", True),
        ("x = one() and two()", False),
        ("match a:\n    case 1:\n        one()\n    case [2, _]:\n        two()", True),
        ("match a:\n    case [1, _]:\n        one()\n    case _:\n        two()", True),
    ],
)
def test_arms_of_one_test_are_exclusive(tmp_path: Path, body: str, expected: bool) -> None:
    project = _project(tmp_path, body)
    assert are_exclusive(project.call("one"), project.call("two")) is expected
    assert are_exclusive(project.call("two"), project.call("one")) is expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if True:\n    place()", False),
        ("if True:\n    pass\nelse:\n    place()", True),
        ("if 0:\n    def f():\n        place()", True),
        ("while 1:\n    place()", False),
        ("while 1:\n    pass\nplace()", True),
        ("if a:\n    place()", False),
    ],
)
def test_what_never_runs(tmp_path: Path, body: str, expected: bool) -> None:
    assert is_dead(*_project(tmp_path, body).call("place")) is expected


@pytest.mark.parametrize(
    ("body", "equal", "unequal"),
    [
        ("if m == 'a':\n    place(m)", "a", []),
        ("if m != 'a':\n    place(m)", None, ["a"]),
        ("if m in ('a', 'b'):\n    return\nplace(m)", None, ["a", "b"]),
        ("if m == 'a':\n    return\nelif m == 'b':\n    return\nplace(m)", None, ["a", "b"]),
        ("match m:\n    case 'a' | 'b':\n        pass\n    case _:\n        place(m)", None, ["a", "b"]),
        ("assert m == 'a'\nm = 'b'\nplace(m)", None, []),
        ("assert m == 'a'\nif n:\n    m = 'b'\nplace(m)", None, []),
        ("m = 'b'\nassert m == 'a'\nplace(m)", "a", []),
        ("if m == 'a':\n    m = 'b'\n    return\nplace(m)", None, ["a"]),
        ("assert self.m == 'a'\nplace(self.m)", "a", []),
        ("assert self.m == 'a'\nself.m = 'b'\nplace(self.m)", None, []),
    ],
)
def test_what_tests_say_of_a_value(tmp_path: Path, body: str, equal: object, unequal: list[object]) -> None:
    text = "class M:\n    def f(self, m, n):\n" + textwrap.indent(body, " " * 8)
    call, scope = SmallProject(tmp_path, {"train.py": text}).call("place")
    argument = call.args[0]
    assert isinstance(argument, ast.expr)
    assert equal_to(argument, call, scope) == equal
    assert unequal_to(argument, call, scope) == unequal


@pytest.mark.parametrize(("callers", "found", "counted"), [(1, True, {}), (4, False, {"conditions of callers": 1})])
def test_the_bound_on_callers_is_counted(tmp_path: Path, callers: int, found: bool, counted: dict[str, int]) -> None:
    functions = "".join(f"def f{i + 1}():\n    f{i}()\n" for i in range(callers))
    text = f"def f0():\n    place()\n{functions}if a:\n    f{callers}()\n"
    project = SmallProject(tmp_path, {"train.py": text})
    is_a = lambda condition: ast.unparse(condition.test) == "a"  # noqa: E731
    assert everywhere(is_a, *project.call("place"), project.program) is found
    assert project.program.counted() == counted
