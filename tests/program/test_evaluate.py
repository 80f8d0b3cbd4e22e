"""Every domain understands every way by which a value travels, because the engine does."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from small_project import SmallProject

from torchrepro_lint.dataflow.mappings import entries_of
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.dataflow.run_constant import RunConstant
from torchrepro_lint.index import Scope
from torchrepro_lint.kernels.layers import Layers
from torchrepro_lint.rng.entropy import Entropy
from torchrepro_lint.rng.library_objects import LibraryObject
from torchrepro_lint.rng.ranks import rank_in
from torchrepro_lint.rng.texts import Evidence, Texts

HEAD = "import dataclasses\nimport time\nfrom multiprocessing import Process\nimport torch\nimport other\n\n"

WAYS = {
    "a name": "v = VALUE\nop(v)",
    "an alias": "v = VALUE\nw = v\nop(w)",
    "the last of several": "v = elsewhere()\nv = VALUE\nop(v)",
    "unpacking": "v, w = VALUE, elsewhere()\nop(v)",
    "nested unpacking": "(u, v), w = (elsewhere(), VALUE), elsewhere()\nop(v)",
    "a result": "def f():\n    return VALUE\nop(f())",
    "a result of several": "def f():\n    return elsewhere(), VALUE\nu, v = f()\nop(v)",
    "an item of a result": "def f():\n    return elsewhere(), VALUE\nop(f()[1])",
    "a lambda's result": "f = lambda: VALUE\nop(f())",
    "a method's result": "class A:\n    def f(self):\n        return VALUE\n    def g(self):\n        op(self.f())",
    "a parameter": "def f(v):\n    op(v)\nf(VALUE)",
    "a keyword": "def f(u, v):\n    op(v)\nf(elsewhere(), v=VALUE)",
    "a keyword-only parameter": "def f(*, v):\n    op(v)\nf(v=VALUE)",
    "a default": "def f(v=VALUE):\n    op(v)\nf()",
    "a keyword-only default": "def f(*, v=VALUE):\n    op(v)\nf()",
    "there and back": "def f(v):\n    return v\nop(f(VALUE))",
    "an item of a dict": "d = {'u': elsewhere(), 'v': VALUE}\nop(d['v'])",
    "an item of a list": "xs = [elsewhere(), VALUE]\nop(xs[1])",
    "a conditional expression": "op(VALUE if True else VALUE)",
    "a short circuit": "op(VALUE or VALUE)",
    "an assignment in an expression": "if (v := VALUE):\n    op(v)",
    "a closure": "def f():\n    v = VALUE\n    def g():\n        op(v)\n    g()",
    "a global": "def f():\n    global v\n    v = VALUE\ndef g():\n    op(v)",
    "another file": "op(other.V)",
    "an attribute": """
        class A:
            def __init__(self):
                self.v = VALUE
            def f(self):
                op(self.v)
        """,
    "an attribute that another method sets": """
        class A:
            def f(self):
                op(self.v)
            def g(self):
                self.v = VALUE
        """,
    "an attribute of a base class": """
        class A:
            v = VALUE
        class B(A):
            def f(self):
                op(self.v)
        """,
    "an attribute of an object made in sight": """
        class A:
            def __init__(self, v):
                self.v = v
        a = A(VALUE)
        op(a.v)
        """,
    "a field's default": """
        @dataclasses.dataclass
        class A:
            v: object = VALUE
        op(A().v)
        """,
    "an argument of a process": "def f(v):\n    op(v)\nProcess(target=f, args=(VALUE,)).start()",
    "in and out of a branch": "if elsewhere():\n    v = VALUE\nelse:\n    v = VALUE\nop(v)",
    "the arm of a branch": "if elsewhere():\n    v = VALUE\n    op(v)\nelse:\n    v = elsewhere()",
}


def _is_text(node: ast.expr, scope: Scope, program: Program) -> bool:
    return Texts(program).is_text(node, scope) is Evidence.SURE


def _holds_text(node: ast.expr, scope: Scope, program: Program) -> bool:
    return Texts(program).holds_text(node, scope) is Evidence.SURE


Reader = Callable[[ast.expr, Scope, Program], object]
DOMAINS: dict[str, tuple[str, Reader]] = {
    "constants": ("7", lambda node, scope, program: set(program.constants(node, scope) or ()) == {7}),
    "text": ("'a'", _is_text),
    "items of text": ("['a', 'b']", _holds_text),
    "entropy": ("time.time()", lambda node, scope, program: Entropy(program).sources(node, scope)),
    "run constant": ("7", lambda node, scope, program: RunConstant(program).keeps(node, scope)),
    "rank": ("torch.distributed.get_rank()", rank_in),
    "library objects": (
        "torch.load('data')['x'].view(3)",
        lambda node, scope, program: LibraryObject(program, frozenset({"torch.load"})).holds(node, scope),
    ),
    "mappings": ("{'k': 1}", lambda node, scope, program: set(entries_of(node, scope, program) or ()) == {"k"}),
    "layers": ("torch.nn.Linear(2, 2)", lambda node, scope, program: Layers(program).made(node, scope)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("domain", DOMAINS)
def test_every_domain_follows_every_way(domain: str, way: str, tmp_path: Path) -> None:
    written, reads = DOMAINS[domain]
    text = HEAD + textwrap.dedent(WAYS[way]).strip().replace("VALUE", written) + "\n"
    other = f"import time\nimport torch\n\nV = {written}\n"
    project = SmallProject(tmp_path, {"train.py": text, "other.py": other})
    node, scope = project.call("op")
    assert reads(node.args[0], scope, project.program)


def test_the_object_of_one_arm_is_not_the_one_that_the_other_uses(tmp_path: Path) -> None:
    text = """
        from sklearn.linear_model import LogisticRegression
        from torch.nn import Linear
        def fit(use_torch):
            for part in range(3):
                if use_torch:
                    model = Linear(4, 2)
                    model.fit(part)
                else:
                    model = LogisticRegression()
                    op(model)
                use(model)
        """
    project = SmallProject(tmp_path, {"train.py": textwrap.dedent(text)})
    (in_arm, scope), (after, _) = project.call("op"), project.call("use")
    assert project.program.makers(in_arm.args[0], scope) == {"sklearn.linear_model.LogisticRegression"}
    assert len(project.program.makers(after.args[0], scope) or ()) == 2


def test_a_name_that_another_function_rebinds_may_be_any_of_its_values(tmp_path: Path) -> None:
    text = "v = 1\ndef f():\n    global v\n    v = 2\nv = 3\nf()\nop(v)\n"
    project = SmallProject(tmp_path, {"train.py": text})
    node, scope = project.call("op")
    assert project.program.constants(node.args[0], scope) == [1, 2, 3]


def test_a_value_on_its_own_way_round_is_what_it_was_before(tmp_path: Path) -> None:
    text = "import torch\nmodel = torch.nn.Linear(2, 2)\nfor _ in range(3):\n    model = model.cuda()\n    op(model)\n"
    project = SmallProject(tmp_path, {"train.py": text})
    node, scope = project.call("op")
    assert project.program.makers(node.args[0], scope) == {"torch.nn.Linear"}
    assert len(project.program.origins(node.args[0], scope)) == 1


def test_an_attribute_that_is_made_of_itself_is_what_it_was_before(tmp_path: Path) -> None:
    text = """
        import torch
        class Net(torch.nn.Module):
            def forward(self, x):
                self.w = torch.nn.Linear(2, 2)
                self.w = self.w.cuda()
                op(self.w)
        """
    project = SmallProject(tmp_path, {"train.py": textwrap.dedent(text)})
    node, scope = project.call("op")
    assert len(project.program.origins(node.args[0], scope)) == 1


def test_a_value_that_is_too_far_away_is_counted(tmp_path: Path) -> None:
    names = "\n".join(f"def f{n}():\n    return f{n + 1}()" for n in range(30))
    text = f"{names}\ndef f30():\n    return 1\nnear = 1\nop(near)\nfar = f0()\nsink(far)\n"
    program = (project := SmallProject(tmp_path, {"train.py": text})).program
    for call in ("op", "sink"):
        node, scope = project.call(call)
        known = program.constants(node.args[0], scope)
        assert (known, program.counted()) == (
            ([1], {}) if call == "op" else (None, {"values not followed to their origin": 1})
        )


CIRCLES = {
    "two variables": "a = start()\nb = a\nfor _ in range(3):\n    a = f(b)\n    b = g(a)\nop(a, b)\n",
    "two functions": """
        def f(x):
            return g(x) if x else 1
        def g(x):
            return f(x) if x else 2
        u = f(g(start))
        v = g(f(start))
        """,
    "two attributes": """
        class A:
            def f(self):
                self.u = self.v or start()
                self.v = self.u.cuda()
            def g(self):
                op(self.v, self.u)
        """,
    "more results than are followed": "def f(x):\n"
    + "".join(f"    if x == {n}:\n        return x or y{n}\n" for n in range(60))
    + "    return x\ndef g(x):\n    return f(x)\nv = f(g(f(1)))\nop(v, f(v), f(g(v)))\n",
    "a file named in a file": """
        import yaml
        with open("a.yaml") as f:
            a = yaml.safe_load(f)
        while "base" in a:
            with open(a["base"]) as f:
                a = yaml.safe_load(f)
        with open(a["other"]) as f:
            b = yaml.safe_load(f)
        op(a["seed"], b["seed"])
        """,
    "many ways to a file": "import yaml\n"
    + "".join(f"h{n} = made(path='a.yaml')\nv{n} = {n}\n" for n in range(30))
    + f"path = {' or '.join(f'h{n}.path' for n in range(30))}\n"
    + "a = yaml.safe_load(open(path))\nb = yaml.safe_load(open(path))\n"
    + f"op({' or '.join(f'v{n}' for n in range(30))} or a)\n"
    + f"op({' or '.join(f'v{n}' for n in range(30))} or b)\n",
}


@pytest.mark.parametrize("circle", CIRCLES)
def test_what_was_asked_before_changes_no_answer(circle: str, tmp_path: Path) -> None:
    files = {"train.py": CIRCLES[circle], "a.yaml": "base: b.yaml\nother: c.yaml\n", "b.yaml": "seed: 1\n"}
    answers: list[dict[object, object]] = []
    for turn in (1, -1):
        project = SmallProject(tmp_path, files)
        facts = project.facts()
        asked = [n for top in facts.tree.body[::turn] for n in ast.walk(top) if isinstance(n, ast.expr)]
        said = {_place(node): [*map(_told, project.program.origins(node, facts.scope_of(node)))] for node in asked}
        answers.append({**said, "cut": project.program.counted()})
    assert answers[0] == answers[1]


def _place(node: ast.AST) -> tuple[object, ...]:
    return type(node).__name__, *(getattr(node, name, None) for name in ast.expr._attributes)


def _told(origin: object) -> object:
    node = getattr(origin, "node", None)
    return type(origin).__name__, str(getattr(origin, "target", "")), _place(node) if node is not None else None
