"""The project's text: words, parts of words, and that the answer does not hang on how much was asked before."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from torchrepro_lint.project.text import MAX_SEARCHES, ProjectText, matches
from torchrepro_lint.reading import read_regular

FILES = {
    "a.py": "import torch\nset_epoch(1)\n",
    "b.py": "sampler.set_epoch(epoch)\nreset_epoch = 2\n",
    "c.py": "reset_epoch()\nprint('größe')\n",
    "d.py": "# set_epoch\nset_epochs = größe_x\n",
}


def text_of(folder: Path) -> ProjectText:
    for name, content in FILES.items():
        (folder / name).write_text(content, encoding="utf-8")
    return ProjectText(lambda: sorted(folder.glob("*.py")), read_regular)


def names(paths: list[Path] | None) -> list[str]:
    assert paths is not None
    return [path.name for path in paths]


def test_a_word_stands_by_itself(tmp_path: Path) -> None:
    text = text_of(tmp_path)
    assert names(text.mentioning("set_epoch")) == ["a.py", "b.py", "d.py"]
    assert names(text.mentioning("größe")) == ["c.py"]
    assert names(text.containing("set_epoch")) == ["a.py", "b.py", "c.py", "d.py"]
    assert names(text.containing("r.set_epoch")) == ["b.py"]


def test_what_is_no_word_is_searched_as_it_is(tmp_path: Path) -> None:
    assert names(text_of(tmp_path).mentioning("sampler.set")) == ["b.py"]


def test_many_questions_do_not_change_the_answers(tmp_path: Path) -> None:
    few, many = text_of(tmp_path), text_of(tmp_path)
    for number in range(MAX_SEARCHES + 1):
        assert names(many.mentioning(f"word{number}")) == []
    for word in ("set_epoch", "epoch", "reset_epoch", "größe", "set", "sampler.set", "ö"):
        assert many.mentioning(word) == few.mentioning(word), word


def test_a_changed_file_is_read_anew(tmp_path: Path) -> None:
    text = text_of(tmp_path)
    for number in range(MAX_SEARCHES + 1):
        text.mentioning(f"word{number}")
    text.mentioning("set_epoch")
    text.change(tmp_path / "a.py", "pass\n")
    assert names(text.mentioning("set_epoch")) == ["b.py", "d.py"]


def test_a_pattern_is_tried_where_it_has_a_chance(tmp_path: Path) -> None:
    text = text_of(tmp_path)
    assert text.any_match(re.compile(rb"\bRESET_\w+\(", re.IGNORECASE), (b"reset",)) is True
    assert text.any_match(re.compile(rb"\bwander\(", re.IGNORECASE), (b"wander",)) is False


@pytest.mark.parametrize("around", ["{}", "x = 1\n{}", "{}\nlr", "lr = lr\n{}\n", "lr\n\n\n{}\n\nlr\n"])
@pytest.mark.parametrize(
    ("text", "is_match"),
    [
        ("cfg.LR = 1", True),
        ("cfg[\n'lr'] = 1", True),
        ("cfg['lr'] \\\n= 1", True),
        ("cfg['lr'] == 1", False),
        ("lrs", False),
    ],
)
def test_only_the_lines_around_a_sign_are_looked_at(around: str, text: str, is_match: bool) -> None:
    pattern = re.compile(rb"cfg(?:\.lr|\[\s*'lr'\s*\])[\s\\]*=(?!=)", re.IGNORECASE)
    content = around.format(text).encode()
    assert matches(pattern, content, (b"lr",)) == matches(pattern, content, ()) == is_match
