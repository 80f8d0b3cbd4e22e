"""`check` from the outside: what is printed where, what is written, and the exit code."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from command_line import TRAIN, Run

from torchrepro_lint import cards

FIXED = TRAIN.replace("True", "False").replace("int(time.time())", "0").replace("import time\n\n", "")


@pytest.fixture(autouse=True)
def _the_rules_that_the_project_breaks() -> None:
    assert {"TRP102", "TRP401"} <= set(cards.codes())


def test_findings_go_to_stdout_and_exit_with_1(run: Run) -> None:
    done = run("train.py")
    assert done.exit_code == 1
    assert "TRP401 warning" in done.stdout
    assert "--> train.py:5:1" in done.stdout
    assert done.stdout.endswith("Found 2 certain problems (2 fixable with --fix) in 1 file.\n")
    assert done.stderr == ""


@pytest.mark.parametrize("arguments", [("check", "."), (".",), (), ("--select", "TRP4,TRP1")])
def test_a_bare_path_options_or_nothing_means_check(run: Run, arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert done.exit_code == 1
    assert "in 1 of 2 files" in done.stdout


def test_a_path_that_is_named_like_a_command(run: Run, project: Path) -> None:
    (project / "rule").mkdir()
    (project / "rule" / "train.py").write_text(TRAIN)
    assert "rule/train.py:5:1" in run("./rule").stdout


def test_nothing_found(run: Run) -> None:
    done = run("clean.py")
    assert (done.exit_code, done.stdout) == (0, "No problems in 1 file.\n")


def test_fix_writes_and_reports_what_is_left(run: Run, project: Path) -> None:
    done = run(".", "--fix")
    assert (project / "train.py").read_text() == FIXED
    assert (done.exit_code, done.stdout) == (0, "Fixed 2 problems, none remain in 2 files.\n")
    assert done.stderr == "torchrepro-lint: changed 1 file: train.py\n"
    assert run(".", "--fix").stdout == "No problems in 2 files.\n"


def test_fix_only_reports_nothing(run: Run, project: Path) -> None:
    (project / "other.py").write_text("hash('x') = 1\n")
    done = run("train.py", "--fix-only")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == (
        "torchrepro-lint: changed 1 file: train.py\ntorchrepro-lint: fixed 2 problems, none remain in 1 file\n"
    )
    assert (project / "train.py").read_text() == FIXED


def test_diff_shows_and_writes_nothing(run: Run, project: Path) -> None:
    done = run(".", "--diff", "--fix")
    assert done.exit_code == 1
    assert done.stdout.startswith("--- a/train.py\n+++ b/train.py\n@@ ")
    assert "\n-torch.backends.cudnn.benchmark = True\n" in done.stdout
    assert "\n+torch.backends.cudnn.benchmark = False\n" in done.stdout
    assert done.stderr == "torchrepro-lint: would fix 2 problems, none remain in 2 files\n"
    assert (project / "train.py").read_text() == TRAIN
    assert run("clean.py", "--diff").exit_code == 0


def test_diff_to_a_file_and_where_only_unsafe_fixes_exist(run: Run, project: Path) -> None:
    plain = run(".", "--diff").stdout
    assert run(".", "--diff", "-o", "out.patch").stdout == ""
    assert (project / "out.patch").read_text() == plain
    (project / "train.py").write_text("import torch\n\ntorch.use_deterministic_algorithms(False)\n")
    done = run("train.py", "--diff")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == (
        "torchrepro-lint: no safe fix; 1 problem would be mended by unsafe ones, which --diff --unsafe-fixes shows\n"
    )


def test_quiet(run: Run, project: Path) -> None:
    done = run(".", "-q", "--output-format", "concise")
    assert (len(done.stdout.splitlines()), done.stderr, done.exit_code) == (2, "", 1)
    assert run("clean.py", "-q").stdout == ""
    done = run(".", "-q", "--fix")
    assert (done.stdout, done.stderr, done.exit_code) == ("", "", 0)
    assert run("nowhere.py", "-q").stderr != ""


def test_several_reports_of_one_run(run: Run, project: Path) -> None:
    done = run(".", "-o", "sarif:a.sarif", "-o", "junit:b.xml", "-o", "./json:c", "--output-format", "json")
    assert (done.exit_code, done.stdout) == (1, "")
    assert json.loads((project / "a.sarif").read_text())["version"] == "2.1.0"
    assert (project / "b.xml").read_text().startswith("<?xml")
    assert len(json.loads((project / "json:c").read_text())) == 2
    both = run(".", "-o", "gitlab:d.json", "--output-format", "concise")
    assert both.stdout.startswith("train.py:5:1: TRP401")
    assert len(json.loads((project / "d.json").read_text())) == 2


def test_the_job_summary_of_github_has_all_findings(run: Run, project: Path) -> None:
    page = project / "summary.md"
    page.write_text("before\n")
    (project / "many.py").write_text("import torch\n\n" + "torch.backends.cudnn.benchmark = True\n" * 30)
    env = {"GITHUB_STEP_SUMMARY": str(page)}
    done = run(".", "--output-format", "github", env=env)
    assert done.stdout.count("::warning ") == 32
    text = page.read_text()
    assert text.startswith("before\n## torchrepro-lint\n")
    assert sum(line.startswith(("| 3", "| 1", "| 2", "| 5", "| 6")) for line in text.splitlines()) >= 28
    page.unlink()
    assert run(".", env=env).exit_code == 1
    assert not page.exists()


def test_only_what_the_given_files_can_mend(run: Run, project: Path) -> None:
    (project / "data.py").write_text("import numpy as np\n\n\ndef draw():\n    return np.random.rand()\n")
    (project / "main.py").write_text(
        "import torch\nfrom data import draw\n\ntorch.manual_seed(0)\n"
        "torch.tensor(draw(), requires_grad=True).backward()\n"
    )
    assert "main.py" in run("data.py", "--output-format", "concise").stdout
    done = run("data.py", "--only-given")
    assert (done.exit_code, done.stdout) == (
        0, "No problems in 1 file. Left out: 1 of files that were not given.\n",
    )  # fmt: skip


def test_diff_in_color_is_the_same_text(run: Run) -> None:
    plain = run(".", "--diff").stdout
    colored = run(".", "--diff", "--color", "always").stdout
    assert "\x1b[1;31m-torch.backends.cudnn.benchmark = True\x1b[0m\n" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == plain


def test_a_fix_goes_above_a_comment_that_silences_the_line_below(run: Run, project: Path) -> None:
    text = (
        'import torch\n\nif __name__ == "__main__":\n{}    # torchrepro: ignore[TRP401] timed on purpose\n'
        "    x = torch.rand(2, requires_grad=True); torch.backends.cudnn.benchmark = True\n    x.sum().backward()\n"
    )
    (project / "train.py").write_text(text.format(""))
    assert run("train.py", "--fix", "--unsafe-fixes").exit_code == 0
    assert (project / "train.py").read_text() == text.format("    torch.manual_seed(0)\n\n")


def test_select_and_ignore(run: Run) -> None:
    assert run(".", "--select", "TRP4").stdout.count("TRP401 warning") == 1
    assert "TRP401" not in run(".", "--ignore", "cudnn-benchmark").stdout
    assert "TRP102" not in run(".", "--select", "TRP1, TRP4", "--ignore", "TRP102").stdout


@pytest.mark.parametrize("option", ["--select", "--ignore", "--extend-select"])
def test_an_unknown_rule_exits_with_2_and_the_nearest(run: Run, option: str) -> None:
    done = run(".", option, "cudnn-benchmrk")
    assert done.exit_code == 2
    assert done.stderr == (
        f"torchrepro-lint: {option}: unknown rule 'cudnn-benchmrk'; did you mean 'cudnn-benchmark'?\n"
    )
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((".", "--select", ","), "names no rule"),
        ((".", "--unsafe-fixes"), "--unsafe-fixes needs --fix, which writes the fixes, or --diff"),
        ((".", "-"), "the path - for the standard input stands alone"),
        ((".", "--stdin-filename", "x.py"), "--stdin-filename needs the path -"),
        ((".", "--isolated", "--config", "pyproject.toml"), "--isolated reads no configuration file"),
        ((".", "--output-format", "xml"), "'full', 'grouped', 'concise', 'json', 'sarif'"),
        ((".", "--config", "none.toml"), "'none.toml' does not exist"),
        ((".", "--torch-version", "new"), "--torch-version: 'new' is not a version such as"),
        ((".", "--fxi"), "--fix"),
        ((".", "--fail-on", "sure"), "'sure' is none of error, warning, certain and likely"),
        ((".", "--extend-baseline"), "--extend-baseline needs --write-baseline"),
        ((".", "--no-baseline", "--baseline", "x"), "--no-baseline leaves out no known findings"),
        ((".", "-o", "a", "-o", "b"), "all but one need a format"),
        ((".", "-o", "sarif:"), "'sarif:' names no file"),
        (("-", "--changed-since", "main"), "--changed-since works on files"),
        ((".", "--fix", "--add-noqa"), "--add-noqa stands without --fix"),
    ],
)
def test_a_wrong_option_exits_with_2(run: Run, arguments: tuple[str, ...], message: str) -> None:
    done = run(*arguments)
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stdout == ""


def test_a_missing_path_exits_with_2_but_the_rest_is_checked(run: Run, project: Path) -> None:
    done = run("train.py", "nowhere.py")
    assert done.exit_code == 2
    assert done.stderr == f"torchrepro-lint: no such file or folder: {project / 'nowhere.py'}\n"
    assert "TRP401 warning" in done.stdout


def test_a_misspelt_command_is_no_path(run: Run, project: Path) -> None:
    done = run("verfiy", "train.py")
    assert done.exit_code == 2
    told = f"no such file or folder: {project / 'verfiy'}; did you mean the command `verify`?"
    assert done.stderr == f"torchrepro-lint: {told}\n"


def test_nothing_to_check_is_not_green(run: Run, project: Path) -> None:
    (project / "empty").mkdir()
    done = run("empty")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == "torchrepro-lint: nothing to check: no Python files in empty\n"
    assert run("empty", "--output-format", "json").stdout == "[]\n"


def test_named_files_that_are_all_excluded_are_in_order_with_force_exclude(run: Run, project: Path) -> None:
    (project / "torchrepro-lint.toml").write_text('extend-exclude = ["train.py"]\n')
    assert run("train.py").exit_code == 1
    done = run("train.py", "--force-exclude")
    assert (done.exit_code, done.stdout) == (0, "")
    assert "everything is excluded" in done.stderr


def test_a_file_that_cannot_be_parsed_exits_with_2_and_the_rest_is_reported(run: Run, project: Path) -> None:
    (project / "broken.py").write_text("x = (\n")
    done = run(".", "--exit-zero")
    assert done.exit_code == 2
    assert "TRP001 error" in done.stdout
    assert "TRP401 warning" in done.stdout


def test_a_notebook_in_another_language_is_told_and_fails_nothing(run: Run, project: Path) -> None:
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": "x <- 1", "execution_count": None}
    new = {"cells": [cell], "metadata": {"kernelspec": {"language": "R"}}, "nbformat": 4, "nbformat_minor": 5}
    sheet = {"cells": [{"cell_type": "code", "language": "julia", "input": ["x = 1"]}]}
    old = {"worksheets": [sheet], "metadata": {}, "nbformat": 3, "nbformat_minor": 0}
    for name, notebook in ("new", new), ("old", old):
        (project / f"{name}.ipynb").write_text(json.dumps(notebook))
    done = run("new.ipynb", "old.ipynb", "--output-format", "concise")
    assert done.exit_code == 0
    told = re.findall(r"^(.*?):1:1: TRP004 note\(certain\) the code of this notebook is in (\w+),", done.stdout, re.M)
    assert told == [("new.ipynb", "R"), ("old.ipynb", "julia")]


def test_fail_on_and_exit_zero(run: Run, project: Path) -> None:
    assert run(".", "--fail-on", "error").exit_code == 0
    assert run(".", "--exit-zero").exit_code == 0
    (project / "train.py").write_text("import torch\ntorch.backends.cudnn.benckmark = False\n")
    assert run(".", "--fail-on", "error", "--select", "TRP407").exit_code == 1


@pytest.mark.parametrize(
    ("wanted", "exit_code"),
    [("certain", 1), ("likely", 1), ("warning,certain", 1), ("error,certain", 0), ("warning", 1)],
)
def test_fail_on_a_certainty(run: Run, wanted: str, exit_code: int) -> None:
    assert run(".", "--fail-on", wanted).exit_code == exit_code


def test_what_is_not_certain_enough_neither_fails_nor_is_shown(run: Run, project: Path) -> None:
    (project / "train.py").write_text("import os\n\nprint(os.listdir('.')[0])\n")
    assert ": TRP204 warning(likely) " in run("train.py", "--output-format", "concise").stdout
    assert run("train.py", "--fail-on", "certain").exit_code == 0
    done = run("train.py", "--min-certainty", "certain")
    assert (done.exit_code, done.stdout) == (
        0, "No problems in 1 file. Left out: 1 less certain than asked for.\n",
    )  # fmt: skip
    (project / "torchrepro-lint.toml").write_text('min-certainty = "certain"\n')
    assert run("train.py").exit_code == 0
    assert run("train.py", "--min-certainty", "likely").exit_code == 1


def test_json(run: Run) -> None:
    findings = json.loads(run(".", "--output-format", "json").stdout)
    assert [(f["code"], f["path"], f["line"]) for f in findings] == [
        ("TRP401", "train.py", 5),
        ("TRP102", "train.py", 6),
    ]


def test_paths_are_shown_from_the_current_folder(run: Run, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "sub").mkdir()
    monkeypatch.chdir(project / "sub")
    assert run("..", "--output-format", "concise").stdout.startswith("../train.py:5:1: TRP401 ")
    (finding, _) = json.loads(run("..", "--output-format", "json").stdout)
    assert finding["path"] == "train.py"


def test_github_paths_start_at_the_workspace(run: Run, project: Path) -> None:
    env = {"GITHUB_WORKSPACE": str(project.parent)}
    first = run(".", "--output-format", "github", env=env).stdout.splitlines()[0]
    assert f"file={project.name}/train.py,line=5" in first
    assert ",file=train.py," in run(".", "--output-format", "github").stdout


def test_output_file(run: Run, project: Path) -> None:
    done = run(".", "--output-format", "json", "--output-file", "report.json")
    assert (done.exit_code, done.stdout) == (1, "")
    assert len(json.loads((project / "report.json").read_text())) == 2
    done = run(".", "-o", "none/report.json")
    assert done.exit_code == 2
    assert done.stderr.startswith("torchrepro-lint: --output-file: cannot write none/report.json: ")


def test_statistics(run: Run) -> None:
    done = run(".", "--statistics")
    assert done.exit_code == 1
    assert done.stdout.splitlines()[-3:-1] == [
        "1  TRP102  nonconstant-seed  1 certain  [*] 1",
        "1  TRP401  cudnn-benchmark   1 certain  [*] 1",
    ]
    done = run(".", "--statistics", "--output-format", "json")
    assert [row["code"] for row in json.loads(done.stdout)] == ["TRP401", "TRP102"]
    assert done.stderr.startswith("1  TRP102  nonconstant-seed")


def test_what_a_name_alone_decides_is_counted(run: Run, project: Path) -> None:
    """Every time, also where the answer comes from the cache."""
    (project / "draw.py").write_text(
        "import torch\n\nnet = torch.nn.Linear(2, 2)\nnet.load_state_dict(torch.load('net.pth'))\n"
        "dummy = torch.rand(1, 2)\nprint(net(dummy))\n"
    )
    told = "decided by a name alone, that a draw only tries a model out: 1"
    for options in (["--no-cache"], [], []):
        done = run("draw.py", "--statistics", *options)
        assert told in done.stdout.splitlines(), done.stdout
    (project / "draw.py").write_text((project / "draw.py").read_text().replace("dummy", "noise"))
    assert "by a name" not in run("draw.py", "--statistics").stdout


JUDGED_BY_NAMES = {
    "a program measures time": (
        "import time\nimport torch\n\n\ndef benchmark():\n    start = time.time()\n    net = torch.nn.Linear(2, 2)\n"
        "    net(torch.rand(1, 2)).sum().backward()\n    torch.optim.SGD(net.parameters(), 0.1).step()\n"
        "    print(time.time() - start)\n\n\n"
        'if __name__ == "__main__":\n    benchmark()\n'
    ),
    "a library trains": (
        "import torch\nfrom engines import LoopTrainer\n\ntrainer = LoopTrainer(torch.nn.Linear(2, 2))\n"
        "trainer.train([])\n"
    ),
}


@pytest.mark.parametrize(("what", "text"), JUDGED_BY_NAMES.items(), ids=JUDGED_BY_NAMES)
def test_what_names_say_of_a_program_is_counted(what: str, text: str, run: Run, project: Path) -> None:
    (project / "judged.py").write_text(text)
    done = run("judged.py", "--statistics", "--no-cache")
    assert f"decided by a name alone, that {what}: 1" in done.stdout.splitlines(), done.stdout


def test_each_kind_of_decision_by_a_name_is_told_apart(run: Run, project: Path) -> None:
    (project / "draw.py").write_text(
        "import time\nimport torch\n\n\ndef set_seed(number):\n    torch.manual_seed(number)\n\n\n"
        "set_seed(int(time.time()))\nprint(torch.rand(1))\n"
    )
    told = [line for line in run("draw.py", "--statistics").stdout.splitlines() if "by a name" in line]
    assert told == ["decided by a name alone, that a function seeds: 1"]


def test_show_files(run: Run, project: Path) -> None:
    (project / "torchrepro-lint.toml").write_text('extend-exclude = ["clean.py"]\n')
    done = run("--show-files")
    assert (done.exit_code, done.stdout) == (0, "train.py\n")
    assert run("--show-files", "nowhere").exit_code == 2


def test_show_settings_is_toml_with_origins(run: Run, project: Path) -> None:
    tomllib = pytest.importorskip("tomllib" if sys.version_info >= (3, 11) else "tomli")
    config = 'select = ["TRP4"]\n[per-file-ignores]\n"a*.py" = ["TRP401"]\n'
    (project / "torchrepro-lint.toml").write_text(config)
    done = run("--show-settings", "train.py", "--ignore", "TRP402")
    assert done.exit_code == 0
    settings = tomllib.loads(done.stdout)
    assert settings["select"] == ["TRP4"]
    assert settings["ignore"] == ["TRP402"]
    assert settings["per-file-ignores"] == {"a*.py": ["TRP401"]}
    lines = done.stdout.splitlines()
    assert 'select = ["TRP4"]  # torchrepro-lint.toml select' in lines
    assert 'ignore = ["TRP402"]  # --ignore' in lines
    ran = lines[-1].removeprefix("# rules that run: ").split(", ")
    assert ran == [code for code in cards.codes() if code.startswith("TRP4") and code != "TRP402"]


def test_config_and_isolated(run: Run, project: Path) -> None:
    (project / "torchrepro-lint.toml").write_text('select = ["TRP2"]\n')
    (project / "other.toml").write_text('select = ["TRP4"]\n')
    assert run(".").exit_code == 0
    assert run(".", "--isolated").exit_code == 1
    assert "TRP401" in run(".", "--config", "other.toml").stdout


def test_broken_settings_exit_with_2_and_the_place(run: Run, project: Path) -> None:
    (project / "torchrepro-lint.toml").write_text("selct = []\n")
    done = run(".")
    assert done.exit_code == 2
    assert done.stderr == "torchrepro-lint: torchrepro-lint.toml selct: unknown key; did you mean 'select'?\n"


def test_pre_commit_gets_one_line_per_finding(run: Run) -> None:
    env = {"PRE_COMMIT": "1"}
    assert run(".", env=env).stdout.startswith("train.py:5:1: TRP401 ")
    assert " --> train.py:5:1" in run(".", "--output-format", "full", env=env).stdout


@pytest.mark.parametrize(
    ("option", "env", "colored"),
    [
        ("auto", {}, False),
        ("auto", {"FORCE_COLOR": "1"}, True),
        ("auto", {"FORCE_COLOR": "0"}, False),
        ("auto", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ("always", {"NO_COLOR": "1"}, True),
        ("never", {"FORCE_COLOR": "1"}, False),
    ],
)
def test_colors(run: Run, option: str, env: dict[str, str], colored: bool) -> None:
    assert ("\x1b[" in run(".", "--color", option, env=env).stdout) is colored


def test_columns_set_the_width(run: Run, project: Path) -> None:
    (project / "train.py").write_text("import torch\ntorch.backends.cudnn.benchmark = True  # " + "x" * 100 + "\n")
    report = run(".", env={"COLUMNS": "60"}).stdout
    (source,) = [line for line in report.splitlines() if line.startswith("2 | ")]
    assert len(source) == 60
    assert source.endswith("x...")


@pytest.mark.parametrize("name", ["train.py", "link", "hard"])
def test_a_report_is_not_written_over_a_file_that_is_checked(run: Run, project: Path, name: str) -> None:
    (project / "link").symlink_to("train.py")
    (project / "hard").hardlink_to(project / "train.py")
    done = run(".", "-o", name)
    assert done.exit_code == 2
    assert (
        done.stderr
        == f"torchrepro-lint: --output-file: {name} is one of the files that were checked, and is left as it is\n"
    )
    assert (project / "train.py").read_text() == TRAIN
    assert run(".", "-o", "report.txt").exit_code == run(".", "-o", "report.txt").exit_code == 1


def test_a_file_that_cannot_be_written_costs_no_other_its_fix(run: Run, project: Path) -> None:
    (project / "locked.py").write_text(TRAIN)
    (project / "locked.py").chmod(0o444)
    done = run(".", "--fix")
    assert done.exit_code == 2
    refused, changed = done.stderr.splitlines()
    assert refused == "torchrepro-lint: locked.py: not fixed: is read-only"
    assert changed == "torchrepro-lint: changed 1 file: train.py"
    assert done.stdout.endswith("Fixed 2 problems, 2 remain in 1 of 3 files.\n")
    assert (project / "train.py").read_text() == FIXED
    assert (project / "locked.py").read_text() == TRAIN
