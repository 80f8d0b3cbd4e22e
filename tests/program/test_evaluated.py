"""Files that only evaluating programs use, also after a file has changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_project import SmallProject

from torchrepro_lint.kernels import programs
from torchrepro_lint.kernels.programs import is_never_trained

GUARD = 'if __name__ == "__main__":\n    main()\n'
FILES = {
    "metric.py": "def distance(x):\n    return x\n",
    "score.py": f"from metric import distance\n\n\ndef main():\n    distance(1)\n\n\n{GUARD}",
    "train.py": f"def main():\n    loss.backward()\n\n\n{GUARD}",
}


def test_what_a_training_program_imports_is_trained_from_then_on(tmp_path: Path) -> None:
    project = SmallProject(tmp_path, FILES)
    assert is_never_trained(tmp_path / "metric.py", project.program)
    project.program.change(tmp_path / "train.py", f"from metric import distance\n{FILES['train.py']}")
    assert not is_never_trained(tmp_path / "metric.py", project.program)


@pytest.mark.parametrize(("bound", "known"), [(2, True), (1, False)])
def test_of_more_programs_than_are_looked_through_any_may_train(
    bound: int, known: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "MAX_PROGRAMS", bound)
    project = SmallProject(tmp_path, FILES)
    assert is_never_trained(tmp_path / "metric.py", project.program) is known
