"""What a name means in other files."""

from __future__ import annotations

from pathlib import Path

from small_project import SmallProject

from torchrepro_lint.index import Scope
from torchrepro_lint.project.names import MAX_DEPTH


def test_what_is_too_far_from_one_file_is_known_in_a_nearer_one(tmp_path: Path) -> None:
    last = MAX_DEPTH * 2 // 3  # each import is two steps
    files = {f"m{i + 1}.py": f"from m{i} import f\nf()\n" for i in range(last)}
    project = SmallProject(tmp_path, {"m0.py": "def f():\n    pass\n", **files})

    def meant(number: int) -> object:
        call, scope = project.call("f", f"m{number}.py")
        return project.program.names.resolve(call.func, scope)

    assert meant(last) is None
    assert isinstance(meant(last // 2), Scope)
    assert meant(last // 2) is meant(1)
