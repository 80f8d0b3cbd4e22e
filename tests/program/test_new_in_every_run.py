"""Entropy, salted hashes and what they decide; where code runs once; when estimators draw."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow.calls import Module
from torchrepro_lint.dataflow.execution_count import runs_often, runs_once
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.index import ModuleFacts, Scope, build
from torchrepro_lint.project.project import Project as LinkedFiles
from torchrepro_lint.rng.entropy import Entropy
from torchrepro_lint.rng.estimators import rows, unseeded
from torchrepro_lint.rng.hash_uses import decided_by
from torchrepro_lint.rng.restarts import starts_python
from torchrepro_lint.rng.texts import salted
from torchrepro_lint.seeding.seedings import may_be_seeded
from torchrepro_lint.source import read_source


class Project:
    """Files in a folder, and the program that they make."""

    def __init__(self, folder: Path, **files: str) -> None:
        self.folder = folder
        for name, text in files.items():
            (folder / f"{name}.py").write_text(textwrap.dedent(text))
        self.program = Program(LinkedFiles(folder, self._read, files=lambda: sorted(folder.glob("*.py"))))

    def _read(self, path: Path) -> ModuleFacts | None:
        return build(read_source(path, path.name)) if path.exists() else None

    def facts(self, name: str = "train") -> ModuleFacts:
        facts = self.program.load(str(self.folder / f"{name}.py"))
        assert facts is not None
        return facts

    def module(self, name: str = "train") -> Module:
        return Module(self.facts(name), self.program)

    def call(self, name: str, file: str = "train") -> tuple[ast.Call, Scope]:
        """The first call of something whose last name is `name`."""
        return self.facts(file).calls[name][0]


def argument_of(project: Project, name: str) -> tuple[ast.expr, Scope]:
    call, scope = project.call(name)
    return call.args[0], scope


# -- entropy ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("expression", "what"),
    [
        ("time.time()", "the clock"),
        ("int(time.time() * 1000) % 2**32", "the clock"),
        ("datetime.datetime.now().microsecond", "the clock"),
        ("int(datetime.datetime.now().timestamp())", "the clock"),
        ("os.getpid() + 3", "the process id"),
        ("int.from_bytes(os.urandom(4), 'big')", "the operating system's random numbers"),
        ("struct.unpack('I', os.urandom(4))[0]", "the operating system's random numbers"),
        ("secrets.randbits(32)", "the operating system's random numbers"),
        ("uuid.uuid4().int", "the operating system's random numbers"),
        ("random.SystemRandom().randint(0, 9)", "the operating system's random numbers"),
        ("np.random.SeedSequence().entropy", "the operating system's random numbers"),
        ("id(object())", "a memory address"),
        ("hash('name')", "a hash that Python salts anew in each process"),
        ("[time.time()][0]", "the clock"),
        ("{'seed': time.time()}['seed']", "the clock"),
        ("now", "the clock"),
        ("holder.now", "the clock"),
        ("fresh()", "the clock"),
        ("imported()", "the clock"),
    ],
)
def test_values_that_are_new_in_every_run(tmp_path: Path, expression: str, what: str) -> None:
    project = Project(
        tmp_path,
        train=f"""
        import datetime, os, random, secrets, struct, time, types, uuid
        import numpy as np
        from clock import imported

        now = time.time()
        holder = types.SimpleNamespace()
        holder.now = int(time.time())

        def fresh():
            return round(time.time())

        use({expression})
        """,
        clock="""
        from time import time as clock

        def imported():
            return int(clock())
        """,
    )
    [source] = Entropy(project.program).sources(*argument_of(project, "use"))
    assert source.what == what


@pytest.mark.parametrize(
    "expression",
    ["3", "seed", "len(str(time.time()))", "time.sleep(1)", "hash(7)", "hash((1, 2))", "time.time() > 3",
     "np.random.SeedSequence(3).entropy", "unknown(3)", "lambda: time.time()", "random.Random(3).random()"],
)  # fmt: skip
def test_values_that_are_not(tmp_path: Path, expression: str) -> None:
    project = Project(tmp_path, train=f"import random, time\nimport numpy as np\nseed = 3\nuse({expression})\n")
    assert Entropy(project.program).sources(*argument_of(project, "use")) == []


@pytest.mark.parametrize(
    ("body", "reached"),
    [
        ("seed = args.seed or int(time.time())", True),
        ("seed = args.fixed_seed or int(time.time())", False),
        ("seed = int(time.time()) if args.seed is None else args.seed", True),
        ("seed = args.fixed_seed if args.fixed_seed is not None else int(time.time())", False),
        ("seed = int(time.time()) if not args.seed else args.seed", True),
        ("seed = int(time.time()) if args.fixed_seed < 0 else args.fixed_seed", False),
        ("seed = int(time.time()) if args.verbose else 3", True),
        ("if args.low_seed == -1:\n    args.low_seed = int(time.time())\nseed = args.low_seed", True),
        ("if args.low_seed < 0:\n    args.low_seed = int(time.time())\nseed = args.low_seed", True),
        ("if args.low_seed > 0:\n    args.low_seed = int(time.time())\nseed = args.low_seed", False),
        ("if args.seed != None:\n    args.seed = int(time.time())\nseed = args.seed", False),
        ("seed = int(time.time()) if unknown.other_seed is None else 3", False),
    ],
)
def test_a_source_counts_where_the_default_options_lead_to_it(tmp_path: Path, body: str, reached: bool) -> None:
    declared = """
    import argparse, time
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int)
    parser.add_argument("--low-seed", type=int, default=-1)
    parser.add_argument("--fixed-seed", type=int, default=5)
    args = parser.parse_args()
    """
    project = Project(tmp_path, train=f"{textwrap.dedent(declared)}{body}\nuse(seed)\n")
    assert bool(Entropy(project.program).sources(*argument_of(project, "use"))) is reached


@pytest.mark.parametrize(("call", "reached"), [("start()", True), ("start(None)", True), ("start(3)", False)])
def test_a_source_counts_where_a_caller_leaves_the_seed_out(tmp_path: Path, call: str, reached: bool) -> None:
    project = Project(
        tmp_path,
        train=f"""
        import time

        def start(seed=None):
            if seed is None:
                seed = int(time.time())
            use(seed)

        {call}
        """,
    )
    assert bool(Entropy(project.program).sources(*argument_of(project, "use"))) is reached


@pytest.mark.parametrize(
    ("before", "is_new"),
    [
        ("", True),
        ("random.seed(3)", False),
        ("helpers.fix_seeds()", False),
        ("setup()", False),
        ("parse()", True),
    ],
)
@pytest.mark.parametrize("where", ["module", "main", "called"])
def test_a_draw_is_new_in_every_run_until_something_seeds(
    tmp_path: Path, before: str, is_new: bool, where: str
) -> None:
    draw = "use(random.randint(0, 9))"
    program = {
        "module": f"{before}\n{draw}\n",
        "main": f"def main():\n    {before}\n    {draw}\n\nmain()\n",
        "called": f"def choose():\n    {draw}\n\ndef main():\n    {before}\n    choose()\n\nmain()\n",
    }[where].replace("\n    \n", "\n")
    head = """
    import random, helpers

    def setup():
        inner()

    def inner():
        random.seed(3)

    def parse():
        return 3
    """
    project = Project(tmp_path, train=textwrap.dedent(head) + program)
    assert bool(Entropy(project.program).sources(*argument_of(project, "use"))) is is_new


def test_a_draw_of_a_library_may_be_seeded_by_its_user(tmp_path: Path) -> None:
    project = Project(tmp_path, train="import random\ndef f():\n    use(random.random())\n")
    assert Entropy(project.program).sources(*argument_of(project, "use")) == []


# -- hashes ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("argument", "certainty"),
    [
        ("'a'", "certain"),
        ("b'a'", "certain"),
        ("f'{3}'", "certain"),
        ("str(3)", "certain"),
        ("'%d' % 3", "certain"),
        ("('a', 3)", "certain"),
        ("(3, (4, 'a'))", "certain"),
        ("typed", "certain"),
        ("kept", "certain"),
        ("pickle.dumps([3])", "certain"),
        ("row.encode()", "certain"),
        ("Path('a') / 'b'", "certain"),
        ("file_name", "likely"),
        ("sample.path", "likely"),
        ("row['word']", "likely"),
        ("3", None),
        ("(3, 4.0)", None),
        ("number", None),
        ("unknown", None),
        ("row", None),
        ("frozenset([1, 2])", None),
    ],
)
def test_hashes_of_text_are_salted(tmp_path: Path, argument: str, certainty: str | None) -> None:
    project = Project(
        tmp_path,
        train=f"""
        import pickle
        from pathlib import Path

        def f(typed: str, number: int, file_name, sample, row, unknown):
            kept = "-".join(["a", "b"])
            return hash({argument})
        """,
    )
    assert salted(*project.call("hash"), project.program) == certainty


def test_items_of_a_listing_are_text(tmp_path: Path) -> None:
    project = Project(tmp_path, train="import os\nfor x in sorted(os.listdir('.')):\n    hash(x)\n")
    assert salted(*project.call("hash"), project.program) == "certain"


@pytest.mark.parametrize(
    ("use", "decides"),
    [
        ("H % 3", True),
        ("use(H % 3)", True),
        ("use(abs(H) % 3)", True),
        ("h = H\nuse(h % 3)", True),
        ("h = H & 7\nbuckets[h].append(1)", True),
        ("H / 2**63 < 0.1", True),
        ("H > 0", True),
        ("sorted(xs, key=lambda x: H)", True),
        ("def f(h):\n    return xs[h % 3]\nf(H)", True),
        ("use(H)", False),
        ("H == 3", False),
        ("cache[H] = 1", False),
        ("print(H % 3)", False),
        ('print(f"{H % 3}")', False),
        ("3 % H", False),
        ("apply(lambda x: H)", False),
    ],
)
def test_what_a_hash_decides(tmp_path: Path, use: str, decides: bool) -> None:
    line = use.replace("H", "hash('a')")
    text = f"buckets, cache, xs = [], {{}}, []\n{line}\n" if "\n" in use or decides else f"xs = []\n{line}\n"
    if use == "H % 3":
        text = "def f():\n    return hash('a') % 3\n"
    project = Project(tmp_path, train=text)
    assert (decided_by(*project.call("hash"), project.program) is not None) is decides


def test_a_hash_method_decides_nothing(tmp_path: Path) -> None:
    project = Project(tmp_path, train="class A:\n    def __hash__(self):\n        return hash('a') % 64\n")
    assert decided_by(*project.call("hash"), project.program) is None


# -- running once ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "once"),
    [
        ("use()", True),
        ("for _ in x:\n    use()", False),
        ("[use() for _ in x]", False),
        ("f = lambda: use()", False),
        ("def main():\n    use()", True),
        ("class A:\n    def __init__(self):\n        use()", False),
        ("class A:\n    def __init__(self):\n        use()\nA()", True),
        ("class A:\n    def __init__(self):\n        use()\nA()\nA()", False),
        ("class A:\n    def __init__(self):\n        use()\nxs = [A() for _ in x]", False),
        ("class A:\n    def __init__(self):\n        self.x = 1\n    def train(self):\n        use()", False),
        (
            "class A:\n    def __init__(self):\n        self.x = 1\n    def train(self):\n        use()\nA().train()",
            True,
        ),
        ("def train():\n    use()\nfor _ in x:\n    train()", False),
        ("def f():\n    use()\nf()\npool.map(f, x)", False),
        ("def f():\n    use()\nf()\nThread(target=f)", True),
        ("def f():\n    use()", False),
        ("def f():\n    use()\nf()", True),
        ("def f():\n    use()\nf()\nf()", False),
        ("def f():\n    use()\nfor _ in x:\n    f()", False),
        ("def g():\n    f()\ndef f():\n    use()\ng()", True),
        ("def f():\n    use()\n    f()", False),
    ],
)
def test_where_code_runs_once(tmp_path: Path, text: str, once: bool) -> None:
    project = Project(tmp_path, train=text + "\n")
    assert runs_once(project.program, *project.call("use")) is once


@pytest.mark.parametrize(
    ("text", "often"),
    [
        ("use()", False),
        ("while x:\n    use()", True),
        ("xs = [use() for _ in x]", True),
        ("xs = [n for n in use()]", False),
        ("def f():\n    use()", False),
        ("def f():\n    use()\nf()\nf()", False),
        ("def f():\n    use()\ndef g():\n    f()\nfor _ in x:\n    g()", True),
        ("def f():\n    use()\npool.map(f, x)", True),
        ("def f():\n    use()\npool = Pool(4, initializer=f)", True),
        ("def f():\n    use()\nps = [Process(target=f) for _ in x]", True),
        ("def f():\n    use()\np = Process(target=f)", False),
        ("class A:\n    def __getitem__(self, i):\n        use()", True),
    ],
)
def test_where_code_is_known_to_run_often(tmp_path: Path, text: str, often: bool) -> None:
    project = Project(tmp_path, train=text + "\n")
    assert runs_often(project.program, *project.call("use")) is often


# -- other processes -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("line", "starts"),
    [
        ("os.execv(sys.executable, sys.argv)", True),
        ("subprocess.run([sys.executable, 'a.py'])", True),
        ("subprocess.Popen('torchrun a.py', shell=True)", True),
        ("subprocess.check_output(['git', 'rev-parse', 'HEAD'])", False),
        ("os.system('python3.11 a.py')", True),
        ("os.system('nvidia-smi')", False),
        ("mp.spawn(f)", True),
        ("mp.set_start_method('spawn', force=True)", True),
        ("mp.set_start_method('fork')", False),
        ("mp.Process(target=f)", False),
    ],
)
def test_which_files_start_a_python(tmp_path: Path, line: str, starts: bool) -> None:
    imports = "import os, subprocess, sys\nimport torch.multiprocessing as mp\n"
    project = Project(tmp_path, train=imports + line + "\n")
    assert starts_python(project.module(), project.program) is starts


# -- estimators ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("call", "draws"),
    [
        ("ms.train_test_split(x)", True),
        ("ms.train_test_split(x, shuffle=False)", False),
        ("ms.train_test_split(x, shuffle=unknown)", False),
        ("ms.KFold(5)", False),
        ("ms.KFold(5, shuffle=True)", True),
        ("ms.KFold(5, True, 3)", False),
        ("ms.StratifiedGroupKFold(5, True)", True),
        ("ms.StratifiedGroupKFold(5, True, 3)", False),
        ("lm.LogisticRegression()", False),
        ("lm.LogisticRegression(solver='saga')", True),
        ("lm.LogisticRegression(solver='liblinear')", False),
        ("lm.LogisticRegression('l1', solver='liblinear')", True),
        ("lm.LogisticRegression(solver='liblinear', dual=True)", True),
        ("gp.GaussianProcessRegressor(n_restarts_optimizer=0)", False),
        ("gp.GaussianProcessRegressor(n_restarts_optimizer=3)", True),
        ("en.AdaBoostClassifier(lm.SGDClassifier(random_state=3))", True),
        ("en.RandomForestClassifier(**options)", False),
        ("en.RandomForestClassifier(random_state=seed)", False),
        ("en.RandomForestClassifier(random_state=nothing)", True),
        ("pd.read_csv('a').sample(10)", True),
        ("pd.read_csv('a').dropna()['x'].sample(10)", True),
        ("pd.read_csv('a').sample(10, None, False, None, 3)", False),
        ("x.sample(frac=0.5)", True),
        ("x.sample(10)", False),
        ("random.sample(x, 3)", False),
    ],
)
def test_when_an_estimator_draws(tmp_path: Path, call: str, draws: bool) -> None:
    project = Project(
        tmp_path,
        train=f"""
        import random
        import pandas as pd
        from sklearn import ensemble as en, gaussian_process as gp, linear_model as lm, model_selection as ms

        nothing = None

        def f(x, options, seed=None):
            return {call}
        """,
    )
    assert bool(unseeded(project.module())) is draws


def test_a_random_state_that_is_set_later_counts(tmp_path: Path) -> None:
    text = "from sklearn.svm import SVC\nm = SVC(probability=True)\n"
    assert unseeded(Project(tmp_path, train=text).module())
    assert not unseeded(Project(tmp_path, train=text + "m.set_params(random_state=3)\n").module())
    assert not unseeded(Project(tmp_path, train=text + "m.random_state = 3\n").module())


def test_the_rows_of_estimators_are_in_form() -> None:
    for name, found in rows().items():
        for row in found:
            assert row["source"], name
            assert set(row.get("when", ())) == set(row.get("default", ())), name
            assert set(row.get("places", ())) <= {*row.get("when", ()), *row.get("given", ())}, name


@pytest.mark.parametrize("key", ["generators", "seeders", "reseeders", "entropy"])
def test_the_rows_of_generators_name_a_source(key: str) -> None:
    assert all(row["source"] for row in catalogue.table("generators")[key])


# -- numpy's seed ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("line", "seeded"),
    [
        ("np.random.seed(3)", True),
        ("helpers.seed_everything(3)", True),
        ("set_seed(3)", True),
        ("torch.manual_seed(3)", False),
        ("random.seed(3)", False),
        ("torch.initial_seed()", False),
    ],
)
def test_whether_a_library_s_numpy_may_be_seeded(tmp_path: Path, line: str, seeded: bool) -> None:
    project = Project(
        tmp_path,
        train=f"import numpy as np\nimport data\nif __name__ == '__main__':\n    {line}\n    data.f()\n",
        data="def f():\n    return 3\n",
    )
    assert may_be_seeded(project.facts("data"), project.program) is seeded
