"""What a file's code says by itself: never "no" where another file could make it "yes"."""

from __future__ import annotations

from pathlib import Path

import pytest

from program.small_project import SmallProject
from torchrepro_lint.project.contents import QUESTIONS
from torchrepro_lint.rng.usual_seed import seeds_spoken_of

ASKED = {**QUESTIONS, "seeds_spoken_of": seeds_spoken_of}
MAY = [
    ("may_call", ("f", ""), "from m import f\nf()\n", True),
    ("may_call", ("f", ""), "from m import f as g\ng()\n", True),
    ("may_call", ("f", ""), "from m import *\nf()\n", True),
    ("may_call", ("f", ""), "import m\nm.f()\n", True),
    ("may_call", ("f", ""), "import m\ng = m.f\nf = g\nf()\n", True),
    ("may_call", ("f", ""), "table[name]()\n", True),
    ("may_call", ("f", ""), "def f(): ...\nf()\n", False),
    ("may_call", ("f", ""), "def run(f):\n    f()\n", False),
    ("may_call", ("f", ""), "print('f()')\nf\n", False),
    ("may_call", ("f", "class"), "net = Net()\nnet.f()\n", True),
    ("may_call", ("f", ""), "net = Net()\nnet.f()\n", False),
    ("passes", ("f",), "from m import f\nrun(f)\n", (("m.f", 0),)),
    ("passes", ("f",), "from ..m import f\nrun(f)\nmap(f, f)\n", (("m.f", 2),)),
    ("passes", ("g",), "from m import f as g\nrun(g)\n", (("m.f", 0),)),
    ("passes", ("f",), "import m\nrun(step=m.f)\n", (("m.f", 0),)),
    ("passes", ("f",), "import a.b\nrun(a.b.f)\n", (("", 0),)),
    ("passes", ("f",), "from a import b\nrun(b.f)\n", (("", 0),)),
    ("passes", ("f",), "try:\n    from m import f\nexcept ImportError:\n    from n import f\nrun(f)\n", (("", 0),)),
    ("passes", ("f",), "from m import *\nrun(f)\n", (("", 0),)),
    ("passes", ("f",), "def f(): ...\nrun(f)\n", ()),
    ("passes", ("f",), "from m import f\nf(run)\n", ()),
    ("defines", ("f",), "def f(): ...\n", True),
    ("defines", ("f",), "def f(): ...\nf = wrap(f)\n", False),
    ("defines", ("f",), "from m import f\n", False),
    ("defines", ("f",), "class A:\n    def f(): ...\n", False),
    ("calls_any", ("spawn", "Process"), "import x\nx.spawn(1)\n", True),
    ("calls_any", ("spawn", "Process"), "spawn\n", False),
    ("may_pass", ("f", "shuffle", "1"), "f(1, size=2)\n", False),
    ("may_pass", ("f", "shuffle", "1"), "f(1, shuffle=x)\n", True),
    ("may_pass", ("f", "shuffle", "1"), "f(1, 2)\n", True),
    ("may_pass", ("f", "shuffle", "1"), "f(*x)\n", True),
    ("may_pass", ("f", "shuffle", "1"), "f(**x)\n", True),
    ("reads_attribute", ("size",), "print(net.size)\n", True),
    ("reads_attribute", ("size",), "net.size = 3\nsize\n", False),
    ("may_read", ("SIZE",), "from m import SIZE\nprint(SIZE)\n", True),
    ("may_read", ("SIZE",), "from m import SIZE as S\nprint(S)\n", True),
    ("may_read", ("SIZE",), "import m\nprint(m.SIZE)\n", True),
    ("may_read", ("SIZE",), "SIZE = 3\nprint(SIZE)\n", False),
    ("called_in", ("main",), "def main():\n    a()\n    b.c()\nd()\n", ("a", "c")),
    ("called_in", ("main",), "import pytest\ndef main():\n    a()\n", ()),
    ("only_defines", ("mark",), "def mark(n):\n    def apply(f):\n        return g(f)\n    return apply\n", True),
    ("only_defines", ("mark",), "def mark(name):\n    return seed(name)\n", False),
    ("only_defines", ("mark",), "def mark(name):\n    import seeding\n    return name\n", False),
    ("only_defines", ("mark",), "def mark(name):\n    @seed(0)\n    def apply(f): ...\n    return apply\n", False),
    ("only_defines", ("mark",), "@seeds\ndef mark(name): ...\n", False),
    ("only_defines", ("mark",), "def mark(name): ...\nmark = seed\n", False),
    ("only_defines", ("mark",), "from m import mark\n", False),
    ("start_of", (), "import a\nrun()\n", "script"),
    ("start_of", (), "import a\na.loss().backward()\n", "work"),
    ("start_of", (), "import a\ndef f():\n    a.loss().backward()\nrun(f)\n", "script"),
    ("start_of", (), "import argparse\nargs = argparse.ArgumentParser().parse_args()\n", "work"),
    ("start_of", (), "from . import a\nrun()\n", ""),
    ("start_of", (), "if __name__ == '__main__':\n    run()\n", "guard"),
    ("start_of", (), "import pytest\nrun()\n", "test"),
    ("start_of", (), "SIZE = 3\n", ""),
    ("seeds_spoken_of", (), "seed = 3\nrun(seed=5)\n", ((3, 5), False, False, False)),
    ("seeds_spoken_of", (), "run(config.seed)\n", ((), False, True, False)),
    ("seeds_spoken_of", (), "# torch.manual_seed(3)\n", ((), False, False, True)),
]


@pytest.mark.parametrize(("question", "about", "text", "answer"), MAY)
def test_a_file_says(question: str, about: tuple[str, ...], text: str, answer: object, tmp_path: Path) -> None:
    files = SmallProject(tmp_path, {"train.py": text}).program.project.files
    assert files.says(str(tmp_path / "train.py"), ASKED[question], *about) == answer


def test_every_question_is_asked_here() -> None:
    assert {question for question, *_ in MAY} == set(ASKED)
