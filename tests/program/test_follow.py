"""Where a value goes: the edges of the engine, its access paths, what may see a binding, and that it is quick."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest
from small_project import SmallProject

from metering import metered
from torchrepro_lint.dataflow.edges import Edges
from torchrepro_lint.dataflow.follow import Follow, Policy
from torchrepro_lint.dataflow.reaching_definitions import reaching
from torchrepro_lint.dataflow.use import Sink, Steps, Use


def _used(use: Use[None], _: Edges) -> Steps | None:
    """A policy whose sinks are the calls of `use`."""
    call = use.call
    is_sink = call is not None and isinstance(call.func, ast.Name) and call.func.id == "use"
    return (Sink(ast.unparse(use.node)),) if is_sink else None


def sinks(folder: Path, text: str, *, is_complete: bool = False) -> tuple[list[str], bool]:
    """What is given to `use` of what `make()` makes, and whether it escapes."""
    project = SmallProject(folder, {"train.py": "import functools\n" + textwrap.dedent(text)})
    node, scope = project.call("make")
    policy: Policy[None, str] = Policy("a test", _used, is_complete=is_complete)
    search = Follow(policy, project.program)
    return list(search.found([Use(node, scope, None)])), search.escaped


REACHES = {
    "name": "x = make()\nuse(x)",
    "annotated": "x: object = make()\nuse(x)",
    "walrus": "if (x := make()):\n    use(x)",
    "conditional": "x = make() if c else None\nuse(x)",
    "or": "x = c or make()\nuse(x)",
    "tuple": "x, y = make(), 1\nuse(x)",
    "nested tuple": "(y, (z, x)) = 1, (2, make())\nuse(x)",
    "dict": "d = {'a': make(), 'b': 1}\nuse(d['a'])",
    "dict get": "d = {'a': make()}\nuse(d.get('a'))",
    "dict items": "d = {'a': make()}\nfor k, x in d.items():\n    use(x)",
    "dict values": "d = {}\nd['a'] = make()\nfor x in d.values():\n    use(x)",
    "dict update": "d = {}\nd.update(a=make())\nuse(d['a'])",
    "append": "xs = []\nxs.append(make())\nuse(xs[0])",
    "extend": "xs = []\nxs.extend([make()])\nuse(xs[3])",
    "added": "xs = []\nxs += [make()]\nuse(xs[0])",
    "sum of lists": "xs = [1] + [make()]\nuse(xs[1])",
    "iteration": "for x in [make()]:\n    use(x)",
    "comprehension": "xs = [make() for _ in range(3)]\nuse(xs[1])",
    "in a comprehension": "ys = [use(x) for x in [make()]]",
    "enumerate": "for i, x in enumerate([make()]):\n    use(x)",
    "with": "with make() as x:\n    use(x)",
    "argument": "def f(x):\n    use(x)\nf(make())",
    "keyword": "def f(*, x):\n    use(x)\nf(x=make())",
    "any keyword": "def f(**kw):\n    use(kw['x'])\nf(x=make())",
    "mapping": "def f(x):\n    use(x)\nd = {'x': make()}\nf(**d)",
    "partial": "def f(a, x):\n    use(x)\ng = functools.partial(f, 1, make())",
    "result": "def f():\n    return make()\nuse(f())",
    "generator": "def f():\n    yield make()\nfor x in f():\n    use(x)",
    "property": "class A:\n  @property\n  def x(self):\n    return make()\n  def f(self):\n    use(self.x)",
    "attribute": "class A:\n    def __init__(self):\n        self.x = make()\n    def f(self):\n        use(self.x)",
    "class attribute": "class A:\n    x = make()\n    def f(self):\n        use(self.x)",
    "field": "class A:\n    x: int\na = A(make())\nuse(a.x)",
    "closure": "def f():\n    x = make()\n    def g():\n        use(x)\n    return g",
    "loop around": "x = None\nwhile True:\n    use(x)\n    x = make()",
    "handler": "x = None\ntry:\n    x = make()\n    f()\nexcept E:\n    use(x)",
    "starred beside": "xs = [*others, make()]\nuse(xs[3])",
    "starred": "ys = [make()]\nxs = [1, *ys]\nuse(xs[1])",
    "dict in a dict": "d = {'a': make()}\ne = {'b': 1, **d}\nuse(e['a'])",
    "copied dict": "d = {'a': make()}\nuse(d.copy()['a'])",
    "dict of a dict": "d = {'a': make()}\nuse(dict(d)['a'])",
    "yield from": "def f():\n    yield from [make()]\nfor x in f():\n    use(x)",
    "zip": "for i, x in zip(range(3), [make()]):\n    use(x)",
    "constructor": "class A:\n    def __init__(self, x):\n        use(x)\nA(make())",
    "keyword of a class": "class A:\n    y: int\n    x: int\nuse(A(x=make(), y=1).x)",
    "import": "def f():\n    global x\n    x = make()\ndef g():\n    use(x)",
}


@pytest.mark.parametrize("text", REACHES.values(), ids=REACHES)
def test_an_edge(text: str, tmp_path: Path) -> None:
    found, _ = sinks(tmp_path, text)
    assert len(found) == 1


BLOCKED = {
    "other arm": "if c:\n    x = make()\nelse:\n    x = other()\n    use(x)",
    "left early": "if c:\n    x = make()\n    return_it(x)\n    raise E\nx = other()\nuse(x)",
    "bound anew": "x = make()\nx = other()\nuse(x)",
    "bound anew in all arms": "x = make()\nif c:\n    x = 1\nelif d:\n    x = 2\nelse:\n    x = 3\nuse(x)",
    "another item": "x, y = make(), 1\nuse(y)",
    "another key": "d = {'a': make(), 'b': 1}\nuse(d['b'])",
    "keys": "d = {'a': make()}\nfor x in d:\n    use(x)",
    "another caller": "def f(x):\n    return x\na = f(make())\nb = f(1)\nuse(b)",
    "before it is added": "xs = [1]\nuse(xs[0])\nxs.append(make())",
    "with, and no name": "with make():\n    use(1)",
    "filter of a comprehension": "ys = [use(x) for x in others if make()]",
    "item of what is no container": "def f():\n    yield from make()\nfor x in f():\n    use(x)",
    "starred item of what is no container": "xs = [*make()]\nuse(xs[0])",
    "second of a pair": "for x, i in zip(range(3), [make()]):\n    use(x)",
    "another of a mapping": "def f(x, y):\n    use(y)\nd = {'x': make(), 'y': 1}\nf(**d)",
}


@pytest.mark.parametrize("text", BLOCKED.values(), ids=BLOCKED)
def test_no_edge(text: str, tmp_path: Path) -> None:
    found, _ = sinks(tmp_path, text)
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "unknown(make())",
        "x.y = make()",
        "run(lambda: make())",
        "x = {make()}",
        "f(*make())",
        "class A(B, kind=make()): pass",
        "class A:\n    x: int\nA(1, 2, make())",
    ],
)
def test_a_value_that_cannot_be_followed_escapes(text: str, tmp_path: Path) -> None:
    assert sinks(tmp_path, text, is_complete=True) == ([], True)


def test_a_container_may_be_filled_after_others_hold_it(tmp_path: Path) -> None:
    """All uses are asked for: `alias` is the same list."""
    text = "xs = []\nalias = xs\nxs.append(make())\nuse(alias[0])"
    assert sinks(tmp_path, text, is_complete=True) == (["alias[0]"], False)
    assert sinks(tmp_path, text) == ([], False)


@pytest.mark.parametrize("text", ["xs = []\nxs.append(make())\nxs = [1]\nuse(xs[0])", BLOCKED["bound anew"]])
def test_of_all_uses_are_none_of_another_object_with_the_name(text: str, tmp_path: Path) -> None:
    assert sinks(tmp_path, text, is_complete=True) == ([], False)


def test_what_makes_itself_comes_to_an_end(tmp_path: Path) -> None:
    found, escaped = sinks(tmp_path, "x = make()\nwhile c:\n    x = (x, 1)\n    y = [x]\n    x = [y]\nuse(x)")
    assert found
    assert escaped


def test_the_bound_is_counted(tmp_path: Path) -> None:
    lines = "".join(f"x{i + 1} = x{i}\n" for i in range(900))
    project = SmallProject(tmp_path, {"train.py": f"x0 = make()\n{lines}use(x900)\n"})
    node, scope = project.call("make")
    policy: Policy[None, str] = Policy("a test", _used)
    assert list(Follow(policy, project.program).found([Use(node, scope, None)])) == []
    assert project.program.counted() == {"a test": 1}


# -- reaching definitions ----------------------------------------------------------------------------------------
def lines_seen(folder: Path, text: str) -> list[int]:
    """The lines of the bindings that the argument of `use` may see."""
    project = SmallProject(folder, {"train.py": textwrap.dedent(text).lstrip()})
    call, scope = project.call("use")
    read = call.args[0]
    assert isinstance(read, ast.Name)
    owner = scope.binding_scope(read.id)
    assert owner is not None
    return [b.node.lineno for b in reaching(owner.bindings[read.id], read, owner, scope)]  # type: ignore[attr-defined]


SEEN = {
    "last": ("x = 1\nx = 2\nuse(x)", [2]),
    "either arm": ("if c:\n    x = 1\nelse:\n    x = 2\nuse(x)", [2, 4]),
    "own arm": ("if c:\n    x = 1\nelse:\n    x = 2\n    use(x)", [4]),
    "one arm": ("x = 1\nif c:\n    x = 2\nuse(x)", [1, 3]),
    "an arm that leaves": ("def f():\n    x = 1\n    if c:\n        x = 2\n        return\n    use(x)", [2]),
    "a loop": ("x = 1\nfor i in y:\n    use(x)\n    x = 2", [1, 4]),
    "after a loop": ("x = 1\nfor i in y:\n    x = 2\nuse(x)", [1, 3]),
    "the loop's own": ("x = 1\nfor x in y:\n    use(x)", [2]),
    "try": ("x = 1\ntry:\n    x = 2\nexcept E:\n    use(x)", [1, 3]),
    "after try": ("try:\n    x = 1\nexcept E:\n    x = 2\nuse(x)", [2, 4]),
    "import": ("try:\n    import x\nexcept E:\n    x = None\nuse(x)", [2, 4]),
    "added to": ("x = 1\nx = 2\nx += 1\nuse(x)", [3]),
    "match": ("x = 1\nmatch c:\n    case 1:\n        x = 2\nuse(x)", [1, 4]),
    "parameter": ("def f(x):\n    if x is None:\n        x = 2\n    use(x)", [1, 3]),
    "global": ("x = 1\ndef f():\n    global x\n    x = 2\nx = 3\nuse(x)", [1, 4, 5]),
    "other function": ("x = 1\nx = 2\ndef f():\n    use(x)", [1, 2]),
    "lambda": ("x = 1\nf = lambda: use(x)\nx = 2", [1, 3]),
    "walrus": ("x = 1\nif (x := g()):\n    use(x)", [1, 2]),
}


@pytest.mark.parametrize(("text", "lines"), SEEN.values(), ids=SEEN)
def test_the_bindings_that_reach_a_read(text: str, lines: list[int], tmp_path: Path) -> None:
    assert lines_seen(tmp_path, text) == lines


def test_the_work_for_a_name_that_is_bound_many_times_grows_with_their_number(tmp_path: Path) -> None:
    """Comparing each read with each binding would be sixteen times the work."""

    def work(count: int) -> int:
        folder = tmp_path / str(count)
        folder.mkdir()
        project = SmallProject(folder, {"train.py": "def f(x):\n" + "    x = make(x)\n" * count})
        facts = project.module().facts
        policy: Policy[None, str] = Policy("a test", lambda use, _: (Sink("x"),) if use.call else None)
        with metered() as meter:
            for node, scope in facts.calls["make"]:
                list(Follow(policy, project.program).found([Use(node, scope, None)]))
        return meter.lines

    few, many = work(100), work(400)
    assert many < 4.6 * few


def test_a_chain_of_a_thousand_conditions_is_read(tmp_path: Path) -> None:
    text = "if c:\n    x = 0\n" + "".join(f"elif c{i}:\n    x = {i}\n" for i in range(800)) + "use(x)\n"
    assert len(lines_seen(tmp_path, text)) == 801
