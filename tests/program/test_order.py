"""What the order of a listing decides, and where it decides nothing."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from small_project import SmallProject

from torchrepro_lint.loading.decisions import Decision
from torchrepro_lint.loading.order import decided_by

HEAD = "import glob, itertools, json, os, random\nimport numpy as np\nimport torch\nfrom tqdm import tqdm\n"


def decision(folder: Path, text: str, **files: str) -> Decision | None:
    """What the order of the first `os.listdir(...)` decides."""
    others = {f"{name}.py": HEAD + textwrap.dedent(body) for name, body in files.items()}
    project = SmallProject(folder, {"train.py": HEAD + textwrap.dedent(text), **others})
    node, scope = project.call("os.listdir")
    return decided_by(node, scope, project.program)


DECIDES = {
    "field": ("x = {'files': os.listdir(d), 'n': 3}\ny = x['files'][0]", "decides which item is taken"),
    "copied by a slice": ("x = os.listdir(d)[:]\ny = x[0]", "decides which item is taken"),
    "copied": ("x = os.listdir(d).copy()\ny = x[0]", "decides which item is taken"),
    "written line by line": ("out.writelines(os.listdir(d))", "becomes the order in which the items are written"),
    "annotated in a loop": (
        "x: list = []\nfor f in os.listdir(d):\n    y: str = f\n    x.append(y)\nz = x[0]",
        "decides which item is taken",
    ),
    "text that grows": (
        "x = ''\nfor f in os.listdir(d):\n    x = x + f\nopen(p, 'w').write(x)",
        "becomes the order in which the items are written",
    ),
    "iterated by a data set": (
        "class A(torch.utils.data.IterableDataset):\n    def __iter__(self):\n        for f in os.listdir(d):\n"
        "            yield f",
        "becomes the order of the samples",
    ),
    "dict of pairs": ("x = dict(zip(os.listdir(d), y))\nz = list(x)[0]", "decides which item is taken"),
    "list of lists": ("x = []\nx.append(os.listdir(d))\ny = x[0][1]", "decides which item is taken"),
    "first": ("x = os.listdir(d)[0]", "decides which item is taken"),
    "last": ("x = list(os.listdir(d))[-1]", "decides which item is taken"),
    "by number, in a loop that fills a list": (
        "x, y = os.listdir(d), []\nfor i in tqdm(range(len(x))):\n    y.append(x[i])\nz = y[0]",
        "decides which item is taken",
    ),
    "by number, which is used": (
        "x = os.listdir(d)\nfor i in range(len(x)):\n    save(f'{i}.png', x[i])",
        "decides which item each index refers to",
    ),
    "by number, some of them": (
        "x = os.listdir(d)\nfor i in range(10):\n    os.remove(x[i])",
        "decides which item each index refers to",
    ),
    "slice": ("x = os.listdir(d)\ny = x[:10]", "decides which items each part gets"),
    "progress": ("x = [f for f in tqdm(os.listdir(d))]\ny = x[0]", "decides which item is taken"),
    "shuffled": ("x = os.listdir(d)\nrandom.shuffle(x)", "decides what even a seeded shuffle gives"),
    "chosen": ("x = random.choice(os.listdir(d))", "decides which item a random draw picks"),
    "numbered": ("x = {c: i for i, c in enumerate(os.listdir(d))}", "decides the number of each item"),
    "numbered dict": ("x = dict(zip(os.listdir(d), itertools.count()))", "decides the number of each item"),
    "numbered in a loop": ("x = {}\nfor f in os.listdir(d):\n    x[f] = len(x)", "decides the number of each item"),
    "counted": ("n = 0\nfor f in os.listdir(d):\n    x[f] = n\n    n += 1", "decides the number of each item"),
    "position": ("x = os.listdir(d)\nn = x.index('a')", "decides the number of each item"),
    "array": ("for i, f in enumerate(os.listdir(d)):\n    x[i] = read(f)", "decides the number of each item"),
    "first few": (
        "for i, f in enumerate(os.listdir(d)):\n    if i == 5:\n        break",
        "decides which items come first",
    ),
    "paired": ("for a, b in zip(os.listdir(d), glob.glob(e)):\n    f(a, b)", "decides which items are paired"),
    "paired with sorted": ("x = zip(sorted(y), os.listdir(d))", "decides which items are paired"),
    "found": (
        "def f(d):\n    for n in os.listdir(d):\n        if n.endswith('.pt'):\n            return n",
        "decides which item comes first",
    ),
    "kept": (
        "for n in os.listdir(d):\n    if n.endswith('.pt'):\n        best = n\nload(best)",
        "decides which item is kept",
    ),
    "drawn": ("for f in os.listdir(d):\n    x = np.random.rand()", "decides which item gets which random number"),
    "drawn in a list": ("x = [random.random() for f in os.listdir(d)]", "decides which item gets which random number"),
    "shuffled one by one": (
        "for f in os.listdir(d):\n    x = read(f)\n    random.shuffle(x)",
        "decides which item gets which random draw",
    ),
    "written": (
        "with open(p, 'w') as out:\n    for f in os.listdir(d):\n        out.write(f)",
        "becomes the order in which the items are written",
    ),
    "joined": ("out.write('\\n'.join(os.listdir(d)))", "becomes the order in which the items are written"),
    "saved": ("json.dump(os.listdir(d), out)", "is saved"),
    "saved in a field": ("x = os.listdir(d)\njson.dump({'root': d, 'files': x}, out)", "is saved"),
    "saved in an argument": ("x = dict(root=d, files=os.listdir(d))\njson.dump(x, out)", "is saved"),
    "saved in a list of a dict": (
        "x = {'files': []}\nfor f in os.listdir(d):\n    x['files'].append(f)\njson.dump(x, out)",
        "is saved",
    ),
    "written as text": (
        "x = {'files': os.listdir(d)}\ntext = json.dumps(x)\nwith open(p, 'w') as out:\n    out.write(text + '\\n')",
        "becomes the order in which the items are written",
    ),
    "written at once": (
        "open(p, 'w').write(json.dumps(os.listdir(d)))",
        "becomes the order in which the items are written",
    ),
    "unpacked": ("a, b = os.listdir(d)", "decides which item gets which name"),
    "stacked": ("x = np.stack([read(f) for f in os.listdir(d)])\ny = x[3:]", "decides which items each part gets"),
    "extended": ("x = []\nx.extend(os.listdir(d))\ny = x[i]", "decides which item each index refers to"),
    "added to": ("x = os.listdir(d)\nx += ['a']\ny = x[i]", "decides which item each index refers to"),
    "added": ("x = []\nx += os.listdir(d)\ny = x[i]", "decides which item each index refers to"),
    "concatenated": ("x = ['a'] + os.listdir(d)\ny = x[i]", "decides which item each index refers to"),
    "by class": (
        "x = {}\nfor f in os.listdir(d):\n    x.setdefault(kind(f), []).append(f)\n"
        "for k, v in x.items():\n    test = v[:10]",
        "decides which items each part gets",
    ),
    "lists in a dict": ("x = {}\nx['train'] = os.listdir(d)\ny = x['train'][0]", "decides which item is taken"),
    "keys": ("x = {f: 1 for f in os.listdir(d)}\ny = list(x)[0]", "decides which item is taken"),
    "values": (
        "x = {}\nfor f in os.listdir(d):\n    x[f] = read(f)\ny = list(x.values())[i]",
        "decides which item each index refers to",
    ),
    "generator": (
        "def read():\n    for f in os.listdir(d):\n        yield f\nx = list(read())\ny = x[0]",
        "decides which item is taken",
    ),
    "method": (
        "class A:\n    def fill(self):\n        for f in os.listdir(d):\n            self.add(f)\n"
        "    def add(self, f):\n        self.x.append(f)\n    def get(self, i):\n        return self.x[i]",
        "decides which item each index refers to",
    ),
    "one of two results": (
        "def f():\n    return os.listdir(d), 3\nnames, n = f()\nx = names[0]",
        "decides which item is taken",
    ),
    "dataclass": (
        "from dataclasses import dataclass\n@dataclass\nclass A:\n    names: list\n"
        "    def get(self, i):\n        return self.names[i]\nA(os.listdir(d))",
        "decides which item each index refers to",
    ),
    "base class": (
        "class Base:\n    def get(self, i):\n        return self.x[i]\n"
        "class A(Base):\n    def __init__(self):\n        self.x = os.listdir(d)",
        "decides which item each index refers to",
    ),
    "attribute of an object": (
        "class A:\n    def __init__(self):\n        self.x = os.listdir(d)\na = A()\ny = a.x[0]",
        "decides which item is taken",
    ),
    "attribute that is assigned anew": (
        "class A:\n    def __init__(self):\n        self.x = os.listdir(d)\n        self.x = keep(self.x)\n"
        "    def get(self, i):\n        return self.x[i]",
        "decides which item each index refers to",
    ),
    "worked off": (
        "x = os.listdir(d)\ny = []\nwhile len(x) > 0:\n    y.append(x.pop())\nz = y[0]",
        "decides which item is taken",
    ),
    "others are skipped": (
        "for f in os.listdir(d):\n    if not f.endswith('.pt'):\n        continue\n    best = f\nload(best)",
        "decides which item is kept",
    ),
    "any but one": (
        "for f in os.listdir(d):\n    if f == 'a.pt':\n        continue\n    if f.endswith('.pt'):\n        best = f\n"
        "load(best)",
        "decides which item is kept",
    ),
    "more than one": (
        "x = os.listdir(d)\nif len(x) == 1:\n    y = 1\nelse:\n    y = x[0]",
        "decides which item is taken",
    ),
    "numbered files": (
        "for i, f in enumerate(os.listdir(d)):\n    np.save('part%d.npy' % i, read(f))",
        "decides the number of each item",
    ),
    "numbered files of a list at the top": (
        "x = os.listdir(d)\ndef write():\n    for i, f in enumerate(x):\n        torch.save(read(f), f'{i}.pt')",
        "decides the number of each item",
    ),
    "in parts": (
        "x = []\nfor i, f in enumerate(os.listdir(d)):\n    x.append(read(f))\n"
        "    if i % 9 == 0:\n        np.save(f, x)\n        x = []",
        "is saved",
    ),
    "tensor": ("x = torch.LongTensor(list(map(int, os.listdir(d))))\ny = x[3:]", "decides which items each part gets"),
    "narrowed tensor": (
        "x = torch.tensor([read(f) for f in os.listdir(d)]).cuda()\ny = x.narrow(0, 0, 9)",
        "decides which items each part gets",
    ),
    "data frame": (
        "import pandas as pd\nx = pd.DataFrame(os.listdir(d))\ny = x.iloc[i]",
        "decides which item each index refers to",
    ),
}


@pytest.mark.parametrize(("text", "why"), DECIDES.values(), ids=DECIDES)
def test_an_order_that_is_seen(text: str, why: str, tmp_path: Path) -> None:
    found = decision(tmp_path, text)
    assert found is not None
    assert found.why == why


FREE = {
    "seeded for each": "for f in os.listdir(d):\n    x = read(f)\n    random.seed(0)\n    random.shuffle(x)",
    "own dict": "x = {}\nfor k in os.listdir(d):\n    x[k][1] = f(k)\nfor v in x.values():\n    y = list(v)[0]",
    "another key": "x = {}\nx['a'] = os.listdir(d)\ny = x['b'][0]",
    "rebound before": "x = os.listdir(d)\nif a:\n    x = read()\nelse:\n    x = read2()\ny = x[0]",
    "sorted": "x = sorted(os.listdir(d))[0]",
    "one of a dict": "x = {f: read(f) for f in os.listdir(d)}\ny = x['a']\nz = x['b', 1]",
    "popped by name": "x = {f: read(f) for f in os.listdir(d)}\ny = x.pop('a')\nz = x.pop(k, None)",
    "iterated by something else": (
        "class A:\n    def __iter__(self):\n        for f in os.listdir(d):\n            yield f"
    ),
    "a file of one name": "for f in os.listdir(d):\n    if f.name == 'a.pt':\n        best = f\nload(best)",
    "sorted with a list": "x = sorted([f for f in os.listdir(d)])[0]",
    "natural": "x = natsorted(os.listdir(d))[0]",
    "sorted below": "x = os.listdir(d)\nx.sort(key=int)\ny = x[0]",
    "sorted anew": "x = os.listdir(d)\nx = sorted(x)\ny = x[0]",
    "attribute sorted anew": (
        "class A:\n    def __init__(self):\n        self.x = os.listdir(d)\n        self.x = sorted(self.x)\n"
        "    def get(self, i):\n        return self.x[i]"
    ),
    "dict sorted anew": "x = {f: 1 for f in os.listdir(d)}\nx = dict(sorted(x.items()))\ny = list(x)[0]",
    "bound anew": "x = os.listdir(d)\nprint(x)\nx = read()\ny = x[0]",
    "other function": "def f():\n    x = os.listdir(d)\n    return len(x)\ndef g(x):\n    return x[0]",
    "number": "n = len(os.listdir(d))",
    "set": "x = {f for f in os.listdir(d)} | set(os.listdir(e))",
    "test": "if os.listdir(d) or 'a' in os.listdir(d):\n    pass",
    "comparison": "x = os.listdir(d) == []",
    "reduced": "x = max((int(f) for f in os.listdir(d)), default=0)",
    "deleted": "for f in os.listdir(d):\n    os.remove(f)",
    "printed": "for i, f in enumerate(os.listdir(d)):\n    print(i, f)",
    "counted only": "n = 0\nfor f in os.listdir(d):\n    n += 1\nprint(n)",
    "found by name": "def f(d, n):\n    for f in os.listdir(d):\n        if f == n:\n            return f",
    "whether one is found": "def f(d):\n    for n in os.listdir(d):\n        if n.isdigit():\n            return True",
    "newest": "best = 0\nfor f in os.listdir(d):\n    if t(f) > best:\n        best = t(f)\nload(best)",
    "each by itself": "for f in os.listdir(d):\n    out = open(f, 'w')\n    out.write(f)\n    x = [f]\n    print(x[0])",
    "looked up": "x = {}\nfor f in os.listdir(d):\n    x[stem(f)] = f\ny = x['a']",
    "another field": "x = {'files': os.listdir(d), 'names': y}\nz = x['names'][0]",
    "shown as text": "print(json.dumps({'files': os.listdir(d)}))",
    "sent": "self.wfile.write(json.dumps(os.listdir(d)))",
    "own list": "x = {}\nfor k in os.listdir(d):\n    x[k] = []\n    for i in y:\n        x[k].append(i)\nz = x[1][0]",
    "all but one are skipped": (
        "for f in os.listdir(d):\n    if f != 'a.pt' or not f.endswith('t'):\n        continue\n"
        "    best = f\nload(best)"
    ),
    "one only": "x = os.listdir(d)\nassert len(x) == 1, x\ny = x[0]",
    "one only, else raised": "x = os.listdir(d)\nif len(x) != 1:\n    raise ValueError\ny = x[0]",
    "no more than one": "x = os.listdir(d)\nif len(x) > 1:\n    raise ValueError\ny = x[0]",
    "one only, tested": "x = os.listdir(d)\nif len(x) == 1:\n    y = list(x)[0]",
    "folder of the first": "x = glob.glob(p)\ny = os.path.dirname(os.listdir(d)[0])",
    "named in an error": "x = os.listdir(d)\nif x:\n    raise ValueError(f'unexpected: {x[0]}')",
    "paired with its own": "x = os.listdir(d)\ny = [f + '.txt' for f in x]\nfor a, b in zip(x, y):\n    f(a, b)",
    "averaged": "x = np.mean([read(f) for f in os.listdir(d)])",
    "log": "for f in os.listdir(d):\n    log_file.write(f)",
    "another caller": "def same(x):\n    return x\na = same(os.listdir(d))\nb = same(read())[0]\nprint(a)",
    "worked off": "x = os.listdir(d)\nwhile x:\n    os.remove(x.pop())",
    "unknown": "convert(os.listdir(d))",
    "own list, however it begins": (
        "for f in os.listdir(d):\n    if f:\n        x = []\n    else:\n        x = [1]\n"
        "    x.append(f)\n    np.save(f, x)"
    ),
    "counted in each": (
        "for f in os.listdir(d):\n    n = 0\n    for g in read(f):\n        n += 1\n        np.save(f'{f}{n}', g)"
    ),
    "saved with a length": "for f in os.listdir(d):\n    torch.save({'n': len(classes)}, f)",
    "other half of a branch": "if a:\n    x = os.listdir(d)\n    print(x)\nelse:\n    x = read()\n    y = x[0]",
}


@pytest.mark.parametrize("text", FREE.values(), ids=FREE)
def test_an_order_that_nobody_sees(text: str, tmp_path: Path) -> None:
    found = decision(tmp_path, text)
    assert found is None, found.why if found else ""


def test_the_place_may_be_in_another_file(tmp_path: Path) -> None:
    data = """
    class Images:
        def __init__(self, names):
            self.names = names

        def __getitem__(self, index):
            return self.names[index]
    """
    found = decision(tmp_path, "from data import Images\nx = Images(names=os.listdir(d))", data=data)
    assert found is not None
    assert (found.facts.source.rel, found.facts.text(found.node)) == ("data.py", "self.names[index]")


def test_data_that_a_table_of_functions_gives(tmp_path: Path) -> None:
    text = "def ljspeech(d):\n    return [read(f) for f in os.listdir(d)]\nFORMATS = {'ljspeech': ljspeech}"
    assert decision(tmp_path, text) is None
    (tmp_path / "datasets").mkdir()
    project = SmallProject(tmp_path, {"datasets/formats.py": HEAD + text})
    node, scope = project.call("os.listdir", "datasets/formats.py")
    found = decided_by(node, scope, project.program)
    assert found is not None
    assert found.why == "becomes the order of the data that is returned"
