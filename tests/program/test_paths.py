"""Which files a path may be, however it is put together."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_project import SmallProject

from torchrepro_lint.dataflow.paths import ANY, Paths

HEAD = "import os\nfrom pathlib import Path\nfrom somewhere import pick\n"


def paths(folder: Path, text: str) -> tuple[str, ...]:
    """What is passed to the only `read(...)`, the project's folder left out."""
    project = SmallProject(folder, {"train.py": HEAD + text})
    node, scope = project.call("read")
    found = project.program.evaluate(node.args[0], scope, Paths())
    return tuple(str(path).removeprefix(f"{folder}/") for path in found)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("read('a.yaml')", ("a.yaml",)),
        ("read(Path('configs') / 'a.yaml')", ("configs/a.yaml",)),
        ("read(os.path.join('configs', 'a.yaml'))", ("configs/a.yaml",)),
        ("read(os.path.join(os.getcwd(), 'a.yaml'))", ("a.yaml",)),
        ("read('configs/' + name + '.yaml')", (f"configs/{ANY}.yaml",)),
        ("read('configs/%s.yaml' % name)", (f"configs/{ANY}.yaml",)),
        ("read('%d.yaml' % number)", (f"{ANY}.yaml",)),
        ("read('configs/{}.yaml'.format(name))", (f"configs/{ANY}.yaml",)),
        ("read('{}/a{number:02d}.yaml'.format(name, number=1))", (f"{ANY}/a{ANY}.yaml",)),
        ("read(f'configs/{name}.yaml')", (f"configs/{ANY}.yaml",)),
        ("read(f'configs/{number:02d}.yaml')", (f"configs/{ANY}.yaml",)),
        ("read(Path(__file__).parent / 'a.yaml')", ("a.yaml",)),
        ("read(os.path.dirname('configs/a.yaml'))", ("configs",)),
        ("read('a.yaml' if small else 'b.yaml')", ("a.yaml", "b.yaml")),
        ("def f(path='a.yaml'):\n    read(path)", (ANY,)),
        ("def f(path):\n    read(path)\nf('a.yaml')\nf('b.yaml')", ("a.yaml", "b.yaml")),
        ("path = 'a'\nfor part in parts:\n    path = path + '/' + part\nread(path)", ("a", f"{ANY}/{ANY}")),
        ("x = 'a' if c else 'b' if d else 'c'\nread(x + x)", tuple(a + b for a in "abc" for b in "abc")),
        ("x = 'a' if c else 'b' if d else 'c' if e else 'd' if f else 'e'\nread(x + x)", (ANY,)),
        ("read(pick('a.yaml'))", (ANY,)),
        ("read(os.path.join(*parts))", (ANY,)),
        ("read(os.path.join())", (ANY,)),
        ("read(-number)", (ANY,)),
        ("read(3)", ("3",)),
        ("read(None)", (ANY,)),
    ],
)
def test_what_a_path_may_be(text: str, found: tuple[str, ...], tmp_path: Path) -> None:
    assert paths(tmp_path, text) == found
