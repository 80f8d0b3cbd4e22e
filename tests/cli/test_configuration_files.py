"""What lies in a configuration file is reported, silenced, known and fixed as what lies in code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Run
from test_baseline import codes

from repository import commit
from torchrepro_lint.report import RENDERERS

FIT = """\
import numpy as np
import yaml

with open("config.yaml") as file:
    config = yaml.safe_load(file)
rng = np.random.default_rng(config["seed"])
"""
CONFIG = "# of the first experiment\nname: one  # it has a name\nseed: null\n"


@pytest.fixture
def configured(project: Path) -> Path:
    (project / "train.py").write_text(FIT)
    (project / "config.yaml").write_text(CONFIG)
    return project


def found(run: Run, *arguments: str) -> list[str]:
    return codes(run(*arguments, "--output-format", "concise").stdout)


def test_it_is_reported_where_it_is_written_whoever_reads_it(run: Run, configured: Path) -> None:
    (configured / "evaluate.py").write_text(FIT)
    assert found(run, ".") == ["config.yaml TRP104"]
    assert found(run, "train.py") == ["config.yaml TRP104"]
    assert found(run, "clean.py") == []


@pytest.mark.parametrize("output_format", RENDERERS)
def test_every_format_has_both_places(run: Run, configured: Path, output_format: str) -> None:
    done = run(".", "--output-format", output_format)
    assert done.exit_code == 1
    assert "config.yaml" in done.stdout
    assert "TRP104" in done.stdout


def test_the_finding_names_the_entry_and_its_use(run: Run, configured: Path) -> None:
    (finding,) = json.loads(run(".", "--output-format", "json").stdout)
    assert (finding["path"], finding["line"], finding["column"], finding["end_column"]) == ("config.yaml", 3, 1, 11)
    assert [(r["path"], r["line"], r["message"]) for r in finding["related"]] == [("train.py", 6, "it is used here")]
    assert finding["fix"]["safety"] == "unsafe"
    assert [e["path"] for e in finding["fix"]["edits"]] == ["config.yaml"]


def test_the_fix_is_made_in_the_file_and_keeps_the_rest(run: Run, configured: Path) -> None:
    assert run(".", "--fix").exit_code == 1
    assert (configured / "config.yaml").read_text() == CONFIG
    done = run(".", "--fix", "--unsafe-fixes")
    assert (done.exit_code, (configured / "config.yaml").read_text()) == (0, CONFIG.replace("null", "0"))
    assert (configured / "train.py").read_text() == FIT
    assert found(run, ".") == []


def test_it_is_not_made_in_a_file_that_was_not_given(run: Run, configured: Path) -> None:
    done = run("train.py", "--fix", "--unsafe-fixes")
    assert "its fix also changes config.yaml, which is not among the given paths" in done.stderr
    assert (configured / "config.yaml").read_text() == CONFIG


@pytest.mark.parametrize(
    ("name", "text", "fixed"),
    [
        ("config.yaml", "seed:\n", "seed: 0\n"),
        ("config.yaml", "seed:   # none\r\nb: 1\r\n", "seed: 0   # none\r\nb: 1\r\n"),
        ("config.yaml", "{a: é, seed: ~}", "{a: é, seed: 0}"),
        ("config.yaml", "base: &b {seed: null}\n<<: *b\n", "base: &b {seed: 0}\n<<: *b\n"),
        ("config.json", '{"seed": null}', '{"seed": 0}'),
    ],
)
def test_fixes_of_other_spellings(run: Run, configured: Path, name: str, text: str, fixed: str) -> None:
    (configured / "train.py").write_text(FIT.replace("config.yaml", name))
    (configured / name).write_bytes(text.encode())
    run(".", "--fix", "--unsafe-fixes")
    assert (configured / name).read_bytes().decode() == fixed


def test_a_comment_in_either_file_silences_it(run: Run, configured: Path) -> None:
    (configured / "config.yaml").write_text(CONFIG.replace("null", "null  # noqa: TRP104"))
    assert found(run, ".") == []
    (configured / "config.yaml").write_text(CONFIG.replace("seed", "# torchrepro: ignore[TRP104] why\nseed"))
    assert found(run, ".") == []
    (configured / "config.yaml").write_text(CONFIG)
    (configured / "train.py").write_text(FIT.replace('["seed"])', '["seed"])  # noqa: TRP104'))
    assert found(run, ".") == []
    assert "TRP002" not in run(".").stdout


def test_comments_are_written_into_it(run: Run, configured: Path) -> None:
    assert run(".", "--add-noqa").exit_code == 0
    assert "seed: null  # noqa: TRP104\n" in (configured / "config.yaml").read_text()
    assert found(run, ".") == []


def test_a_baseline_knows_it_and_says_when_it_is_gone(run: Run, configured: Path) -> None:
    run(".", "--write-baseline", "known.txt")
    assert "config.yaml\tTRP104\t" in (configured / "known.txt").read_text()
    assert found(run, ".", "--baseline", "known.txt") == []
    (configured / "config.yaml").write_text(CONFIG.replace("null", "3"))
    assert "1 taken out" in run(".", "--write-baseline", "known.txt").stderr


def test_it_is_there_because_of_a_change_of_the_file(run: Run, configured: Path) -> None:
    since = (".", "--changed-since", "main")
    commit(configured)
    assert found(run, *since) == []
    (configured / "train.py").write_text("import os\n" + FIT)
    assert found(run, *since) == []
    (configured / "config.yaml").write_text(CONFIG.replace("seed: null", "seed: ~"))
    assert found(run, *since) == ["config.yaml TRP104"]
    commit(configured, "worse")
    (configured / "config.yaml").write_text(CONFIG.replace("null", "3"))
    commit(configured, "seeded")
    (configured / "config.yaml").write_text(CONFIG.replace("null", "3").replace("seed:", "sead:"))
    assert found(run, *since) == []


def test_a_configuration_file_that_is_given_itself_is_no_code(run: Run, configured: Path) -> None:
    done = run("config.yaml")
    assert done.exit_code == 0
    assert "No problems" in done.stdout
    (configured / "config.yaml").write_text("a: [")
    assert run("config.yaml").exit_code == 2


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"seed: [1\n", "did not find"),
        (b"seed: \xff\xfe\n", "invalid utf-8"),
        (b"# " + b"x" * 300_000, "larger than"),
        (b"seed: &s\n  seed: *s\n", "nested too deeply"),
        (b"[" * 50_000, "nest"),  # told by PyYAML itself since it has a limit
        (b"a: &a [x, x]\n" + b"".join(b"b%d: &b%d [*%s, *%s]\n" % (n, n, p, p) for n in range(40)
                                       for p in [b"b%d" % (n - 1) if n else b"a"]), "more than 20000 values"),
        (b"", "empty"),
        (b"a: 1\n---\nb: 2\n", "several documents"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_read_says_nothing(run: Run, configured: Path, text: bytes, reason: str) -> None:
    (configured / "config.yaml").write_bytes(text)
    assert found(run, ".") == []
    done = run("explain", ".")
    assert "What config.yaml configures is not known: " in done.stdout
    assert reason in done.stdout
    assert json.loads(run("explain", ".", "--output-format", "json").stdout)["unread"][0]["path"] == "config.yaml"


def test_a_link_out_of_the_project_is_not_followed(
    run: Run, configured: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "private.yaml"
    elsewhere.write_text("seed: null\n")
    (configured / "config.yaml").unlink()
    (configured / "config.yaml").symlink_to(elsewhere)
    assert found(run, ".") == []
    (configured / "train.py").write_text(FIT.replace("config.yaml", str(elsewhere)))
    assert found(run, ".") == []


def test_a_list_of_commands_that_cannot_be_read_is_told(run: Run, configured: Path) -> None:
    (configured / "setup.cfg").symlink_to("setup.cfg")
    done = run(".")
    assert "setup.cfg: cannot be read: " in done.stderr
    assert "TRP104" in done.stdout
