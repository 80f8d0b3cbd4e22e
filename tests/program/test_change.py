"""A file that changes while a project is held, as in an editor and between fixes: what is kept still holds."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_project import SmallProject

FILES = {
    "train.py": "import paths\nimport model\n\nmodel.build()\n",
    "paths.py": "import sys\n",
    "model.py": "import torch\n",
    "lib/layers.py": "import torch\n",
    "other.py": "import layers\n",
}
ADDS = "import sys\nsys.path.insert(0, 'lib')\n"


def answers(project: SmallProject) -> tuple[object, ...]:
    held = project.program.project
    files = [held.root / name for name in FILES]
    return (
        {path: held.imported(path) for path in files},
        {path: held.reachable(path) for path in files},
        {path: held.users([path]) for path in files},
        {path: held.finder.find("layers", 0, str(path)) for path in files},
        {path: held.finder.find("model", 0, str(path)) for path in files},
    )


@pytest.mark.parametrize(
    "edits",
    [
        [("model.py", "import torch\nx = 1\n")],
        [("model.py", "import torch\nimport other\n"), ("model.py", "import torch\n")],
        [("model.py", "import other\n"), ("other.py", "import paths\n")],
        [("train.py", "import sys\nsys.path.append('lib')\nimport layers\n"), ("train.py", FILES["train.py"])],
        [("other.py", ADDS + "import layers\n"), ("other.py", FILES["other.py"])],
        [("paths.py", ADDS), ("train.py", "import paths\nimport layers\n"), ("paths.py", "import sys\n")],
        [("other.py", "import paths\nimport layers\n"), ("paths.py", ADDS)],
    ],
)
def test_imports_are_found_as_in_a_project_that_is_read_anew(edits: list[tuple[str, str]], tmp_path: Path) -> None:
    project = SmallProject(tmp_path, FILES)
    for name, text in edits:
        answers(project)
        project.change(name, text)
        assert answers(project) == answers(SmallProject(tmp_path, {}))


def test_what_an_edit_of_no_import_leaves_is_not_looked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = SmallProject(tmp_path, FILES)
    before = answers(project)
    project.change("model.py", "import torch\nx = 1\n")
    monkeypatch.setattr(type(project.program.project.finder), "_whole", None)
    assert answers(project) == before
