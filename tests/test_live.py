"""A project that is edited: which files' findings an edit makes stale."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchrepro_lint import cards
from torchrepro_lint.engine import Request
from torchrepro_lint.live import Live
from torchrepro_lint.settings import SettingsResolver

MODEL = "from torch import nn\n\n\ndef build():\n    return nn.Linear(2, 2)\n"
FILES = {
    "pyproject.toml": "[project]\nname = 'a'\n",
    "model.py": MODEL,
    "train.py": "from model import build\n\nif __name__ == '__main__':\n    build().weight.sum().backward()\n",
    "other.py": "def build_other():\n    return 1\n",
}


@pytest.fixture
def live(tmp_path: Path) -> Live:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    found = Live(lambda: Request((tmp_path,), SettingsResolver(cards.codes())))
    settle(found)
    return found


def settle(live: Live) -> None:
    while live.stale:
        live.check_next()


def names(live: Live) -> list[str]:
    return [path.name for path in live.stale]


def test_an_edit_makes_stale_what_rests_on_what_it_changes(live: Live) -> None:
    """A finding in train.py shows a place in model.py."""
    other = FILES["other.py"]
    for name, text, stale in (
        ("other.py", f"# a comment\n{other}", ["other.py"]),
        ("other.py", other.replace("1", "2"), ["other.py"]),
        ("model.py", f"# a comment\n{MODEL}", ["model.py", "train.py"]),
        ("model.py", MODEL.replace("2, 2", "3, 3"), ["model.py", "train.py"]),
        ("train.py", f"{FILES['train.py']}    print('done')\n", ["train.py"]),
    ):
        live.change({live.run.root / name: text})
        assert names(live) == stale
        settle(live)


def test_a_search_is_asked_again_when_the_last_file_that_it_found_has_changed(live: Live) -> None:
    """Also where others that it once found have changed before."""
    root, asked = live.run.root, ("defines", "build")
    (root / "other.py").write_text(MODEL)
    live.changed_on_disk([root / "other.py"])
    settle(live)
    assert live.run.program.project.text.defines_function("build")
    for name, is_known in (("model.py", True), ("other.py", False)):
        live.change({root / name: "x = 1\n"})
        assert (asked in live.run.tracker.answers) is is_known
    assert not live.run.program.project.text.defines_function("build")


def test_what_an_edit_leaves_as_it_was_is_asked_again_at_the_next(live: Live) -> None:
    """Whether a file speaks of random states is looked up in its text; to whoever asked, another comment is no news."""
    path, asked = live.run.root / "model.py", ("matches", str(live.run.root / "model.py"), "answer = .*")
    tracker = live.run.tracker
    outer = tracker.begin()
    facts = live.run.program.load(str(path))
    assert facts is not None
    assert not facts.source.matches(asked[2])
    tracker.forget(outer)
    for text, is_known in ((f"# a comment\n{MODEL}", True), (f"answer = 42\n{MODEL}", False)):
        live.change({path: text})
        assert (asked in tracker.answers) is is_known
