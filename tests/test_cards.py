"""The form of a card: what is read from it, and how one that strays from the form is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from torchrepro_lint import cards
from torchrepro_lint.cards import CardError, Mark, parse_card
from torchrepro_lint.model import Certainty, Level

CARD = """\
+++
code = "TRP201"
name = "loader-without-generator"
summary = "A shuffling loader draws its order from the global RNG."
level = "warning"
certainty = "certain"
fix = "safe"
since = "0.1.0"
tags = ["data-loading", "order"]
message = "`{call}` shuffles without `generator=`"
help = "Pass a seeded generator to `{call}`"
fix_title = "Give the loader a seeded generator"
references = ["https://docs.pytorch.org/docs/stable/notes/randomness.html"]

[messages]
none = "`{call}` passes `generator=None` {{as if absent}}"
+++

## What it does

Reports it.

## Why it matters

```
## not a heading, but output
```

## Example

```python bad torch=2.5
loader = DataLoader(data, shuffle=True)  # TRP201
```

Written like this:

```python fixed
loader = DataLoader(data, shuffle=True, generator=torch.Generator().manual_seed(0))
```

```python bad file=train.py unsafe
import data
data.load()  # TRP201, TRP203
```

In the other file:

```python bad file=data.py
def load():
    # TRP202 is not here, TRP203
    return DataLoader(shuffle=True)  # TRP201
```

<!-- next -->

```python bad file=train.py
pass
```

## Use instead

```python good
loader = DataLoader(data)
```

## Fix safety

Safe.

## When it stays silent

Often.

## References
"""


def write(folder: Path, text: str = CARD, name: str = "TRP201-loader-without-generator.md") -> Path:
    group = folder / "TRP2-data-loading"
    group.mkdir(exist_ok=True)
    path = group / name
    path.write_text(text, encoding="utf-8")
    return path


def test_front_matter_becomes_typed_fields(tmp_path: Path) -> None:
    card = parse_card(write(tmp_path))
    assert (card.code, card.name) == ("TRP201", "loader-without-generator")
    assert (card.level, card.certainty, card.fix) == (Level.WARNING, Certainty.CERTAIN, "safe")
    assert card.default is True
    assert card.tags == ("data-loading", "order")
    assert card.message == "`{call}` shuffles without `generator=`"
    assert card.messages == {"none": "`{call}` passes `generator=None` {{as if absent}}"}
    assert (card.help, card.help_for) == ("Pass a seeded generator to `{call}`", {})


def test_sections_skip_headings_in_fences(tmp_path: Path) -> None:
    sections = parse_card(write(tmp_path)).sections()
    assert tuple(sections) == cards.HEADINGS
    assert sections["What it does"] == "Reports it."
    assert "not a heading" in sections["Why it matters"]


def test_examples_are_grouped_into_programs(tmp_path: Path) -> None:
    path = write(tmp_path)
    first, fixed, program, after_next, good = parse_card(path).examples()
    assert (first.kind, first.torch, first.unsafe) == ("bad", "2.5", False)
    assert first.files == (("train.py", "loader = DataLoader(data, shuffle=True)  # TRP201\n"),)
    assert fixed.kind == "fixed"
    assert [name for name, _ in program.files] == ["train.py", "data.py"]
    assert program.unsafe
    assert after_next.files == (("train.py", "pass\n"),)
    assert good.kind == "good"
    lines = path.read_text(encoding="utf-8").split("\n")
    assert lines[first.line - 1] == "```python bad torch=2.5"


def test_marks_are_found_and_removed(tmp_path: Path) -> None:
    program = parse_card(write(tmp_path)).examples()[2]
    assert program.marks() == (
        Mark("train.py", 2, "TRP201"),
        Mark("train.py", 2, "TRP203"),
        Mark("data.py", 3, "TRP201"),
    )
    assert dict(program.sources())["train.py"] == "import data\ndata.load()\n"
    assert "# TRP202 is not here, TRP203\n" in dict(program.sources())["data.py"]


@pytest.mark.parametrize(
    ("old", "new", "line", "problem"),
    [
        ("+++\ncode", "code", 1, "starts with a line +++"),
        ("\n+++\n\n## What", "\n\n## What", 1, "not closed"),
        ('level = "warning"', 'level = "fatal"', 5, "level: 'fatal' is none of error, warning, note"),
        ('fix = "safe"', 'fix = "maybe"', 7, "fix: 'maybe' is none of"),
        ('summary = "A', 'sumary = "A', 4, "sumary: unknown key; valid: certainty, code"),
        ('since = "0.1.0"\n', "", 1, "since: is missing"),
        ('tags = ["data-loading", "order"]', 'tags = "order"', 9, "tags: must be a list of texts"),
        ("tags = [", "default = 1\ntags = [", 9, "default: must be true or false"),
        ("{call}` shuffles", "{call!r}` shuffles", 10, "message: a placeholder is {lower_case}"),
        ('help = "Pass a seeded generator to `{call}`"\n', "", 1, "help: is missing"),
        ("to `{call}`", "to `{Call}`", 11, "help: a placeholder is {lower_case}"),
        ('{{as if absent}}"\n', '{{as if absent}}"\n[help_for]\nno = "x"\n', 17, "help_for: no message is called no"),
        ("{{as if absent}}", "{as if absent}", 16, "none: a placeholder"),
        (
            'fix_title = "Give the loader a seeded generator"\n',
            "",
            1,
            "fix_title: must be given exactly when",
        ),
        ('code = "TRP201"', 'code = "TRP202"', 2, "'TRP202' is not what the file is named after: 'TRP201'"),
        ('name = "loader', 'name = "sampler', 3, "'sampler-without-generator' is not what"),
        ('level = "warning"', "level = warning", 5, "front matter:"),
        ("## Use instead", "## Use this", 60, "expected ## Use instead, found ## Use this"),
        ("## References\n", "", 75, "heading missing: ## References"),
        ("## References\n", "## References\n\n## More\n", 76, "unknown heading: ## More"),
        ("## What it does", "Hello.\n\n## What it does", 18, "text before ## What it does"),
        ("Often.", "", 70, "nothing under ## When it stays silent"),
        ("<!-- next -->\n", "", 55, "train.py comes twice in one program"),
        ("python bad torch=2.5", "python wrong", 31, "'wrong' is none of bad, fixed, good"),
        ("bad torch=2.5", "bad cell=2", 31, "'cell=2' is none of file=..., torch=..., unsafe"),
        ("file=data.py", "file=data.py torch=2.6", 45, ""),
        ("python good", "toml good", 62, "a toml file of an example needs file=..."),
        ("DataLoader(data)\n```", "DataLoader(data)\n", 62, "the fenced block is not closed"),
    ],
)
def test_a_card_that_strays_is_refused_with_its_place(
    tmp_path: Path, old: str, new: str, line: int, problem: str
) -> None:
    assert CARD.count(old) == 1, old
    path = write(tmp_path, CARD.replace(old, new))
    if not problem:  # one program may name its torch version once
        assert parse_card(path).examples()[2].torch == "2.6"
        return
    with pytest.raises(CardError) as caught:
        parse_card(path)
    assert problem in str(caught.value)
    assert str(caught.value).startswith(f"{path}:{line}: ")


def test_one_program_has_one_torch_version(tmp_path: Path) -> None:
    text = CARD.replace("unsafe", "torch=2.5").replace("file=data.py", "file=data.py torch=2.6")
    with pytest.raises(CardError, match=r"torch=2\.5 and torch=2\.6"):
        parse_card(write(tmp_path, text))


def test_a_card_lies_in_the_group_of_its_code(tmp_path: Path) -> None:
    text = CARD.replace('"TRP201"', '"TRP301"')
    with pytest.raises(CardError, match="'TRP301' does not belong in TRP2-data-loading/"):
        parse_card(write(tmp_path, text, "TRP301-loader-without-generator.md"))


def test_every_shipped_card_is_in_form() -> None:
    loaded = cards.load_cards()
    assert list(loaded) == sorted(loaded)
    assert {code: card.name for code, card in loaded.items()} == dict(cards.codes())
    assert cards.off_by_default() == {code for code, card in loaded.items() if not card.default}


def test_an_unknown_code_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        cards.load_card("TRP999")


def test_codes_and_defaults_do_not_parse_toml() -> None:
    """They are asked for on every run."""
    program = (
        "import sys; from torchrepro_lint import cards; cards.codes(); cards.off_by_default();"
        "sys.exit('tomllib' in sys.modules or 'tomli' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
