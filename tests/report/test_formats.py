"""The formats that logs, editors and programs read."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from findings_by_hand import ROOT, finding, fix, related, rendered, result, span

from torchrepro_lint.engine import Result
from torchrepro_lint.model import Level, Safety
from torchrepro_lint.report import RENDERERS
from torchrepro_lint.report.links import rule_url
from torchrepro_lint.report.places import shown_path

SCHEMA = json.loads(
    (Path(__file__).parents[2] / "docs" / "schemas" / "findings.schema.json").read_text(encoding="utf-8")
)


def _several() -> Result:
    return result(
        finding(span(1, 1, 1, 6), related(span(2, 3, 2, 4), "drawn there", path="src/data.py"), fix=fix()),
        finding(span(2, 1, 4, 2), fix=fix(Safety.UNSAFE), level=Level.ERROR),
        finding(span(3, 5, 3, 9), path="nb.ipynb", cell=2, level=Level.NOTE, message="`x` ist 漢: 100%,\nend"),
    )


def test_concise_is_one_line_for_each_finding() -> None:
    lines = rendered("concise", _several()).split("\n")
    assert lines[:3] == [
        "train.py:1:1: TRP201 warning(certain) `DataLoader(...)` shuffles without `generator=` [*]",
        "train.py:2:1: TRP201 error(certain) `DataLoader(...)` shuffles without `generator=`",
        "nb.ipynb:cell 2:3:5: TRP201 note(certain) `x` ist 漢: 100%, end",
    ]


def test_concise_in_color_marks_the_code() -> None:
    report = rendered("concise", result(finding(span(1, 1, 1, 2), level=Level.ERROR)), color=True)
    assert report.startswith("train.py:1:1: \x1b[1;31mTRP201\x1b[0m error(certain) `")


def test_json_has_the_documented_form() -> None:
    text = rendered("json", _several(), cwd=Path("/elsewhere"))
    findings = json.loads(text)
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(findings, SCHEMA)
    assert text.startswith('[\n  {\n    "code": "TRP201",\n    "name": "loader-without-generator",\n')
    assert text.endswith("]\n")
    assert "漢" in text
    assert findings[0] == {
        "code": "TRP201",
        "name": "loader-without-generator",
        "level": "warning",
        "certainty": "certain",
        "message": "`DataLoader(...)` shuffles without `generator=`",
        "root": "/project",
        "path": "train.py",
        "line": 1,
        "column": 1,
        "end_line": 1,
        "end_column": 6,
        "cell": None,
        "properties": {"bound": True, "count": 2, "family": "torch"},
        "related": [{"path": "src/data.py", "line": 2, "column": 3, "message": "drawn there"}],
        "help": None,
        "fix": {
            "safety": "safe",
            "title": "Give the loader a seeded generator",
            "edits": [
                {
                    "path": "train.py",
                    "cell": None,
                    "start": {"line": 1, "column": 1},
                    "end": {"line": 1, "column": 1},
                    "text": "import torch\n",
                }
            ],
        },
        "fingerprint": "0123456789abcdef",
    }
    assert list(findings[0]) == SCHEMA["$defs"]["finding"]["required"]
    assert list(findings[0]["properties"]) == ["bound", "count", "family"]
    assert findings[2]["cell"] == 2


@pytest.mark.parametrize(("key", "value"), [("extra", 1), ("line", 0), ("level", "fatal"), ("cell", 0), ("code", "X1")])
def test_the_schema_refuses_what_is_not_documented(key: str, value: object) -> None:
    findings = json.loads(rendered("json", _several()))
    findings[0][key] = value
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(findings, SCHEMA)


def test_json_of_nothing_is_an_empty_list() -> None:
    assert rendered("json", result()) == "[]\n"


def test_github_gets_one_workflow_command_for_each_finding() -> None:
    first, second, third = rendered("github", _several()).splitlines()
    assert first == (
        "::warning title=TRP201 loader-without-generator,file=train.py,line=1,endLine=1,col=1,endColumn=6"
        "::train.py:1:1: TRP201 loader-without-generator, warning (certain): `DataLoader(...)` shuffles without "
        "`generator=`%0Asrc/data.py:2:3: drawn there%0Ahelp: Give the loader a seeded generator [safe fix]"
        f"%0A{rule_url('TRP201')}"
    )
    assert second.startswith("::error ")
    assert ",line=2,endLine=4::" in second  # columns of several lines are refused
    assert third == (
        "::notice title=TRP201 loader-without-generator,file=nb.ipynb,line=1,endLine=1"
        "::nb.ipynb:cell 2:3:5: TRP201 loader-without-generator, note (certain): `x` ist 漢: 100%25,%0Aend"
        f"%0A{rule_url('TRP201')}"
    )


def test_what_to_do_by_hand_is_told_where_there_is_no_fix() -> None:
    by_hand = finding(span(1, 1, 1, 6), help="Sort the names")
    assert json.loads(rendered("json", result(by_hand)))[0]["help"] == "Sort the names"
    assert "%0Ahelp: Sort the names" in rendered("github", result(by_hand))
    fixed = finding(span(1, 1, 1, 6), fix=fix(), help="Sort the names")
    assert json.loads(rendered("json", result(fixed)))[0]["help"] == "Sort the names"
    assert "Sort the names" not in rendered("github", result(fixed))


def test_github_escapes_what_would_end_a_property() -> None:
    made = result(finding(span(1, 1, 1, 2), path="a:b,c;d%e.py"))
    assert ",file=a%3Ab%2Cc%3Bd%25e.py,line=1," in rendered("github", made)


def test_every_format_writes_text_that_ends_in_a_newline() -> None:
    for output_format in RENDERERS:
        assert rendered(output_format, _several()).endswith("\n")
        assert (rendered(output_format, result()) or "\n").endswith("\n")


@pytest.mark.parametrize(
    ("cwd", "shown"),
    [
        ("/project", "src/train.py"),
        ("/project/src", "train.py"),
        ("/project/tests", "../src/train.py"),
        ("/home/me/somewhere/else", "/project/src/train.py"),
    ],
)
def test_paths_are_shown_from_where_one_stands(cwd: str, shown: str) -> None:
    assert shown_path(ROOT, "src/train.py", Path(cwd)) == shown
