"""What holds for the tool as a whole: one set of codes everywhere, no heavy imports, the same bytes out every time."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from torchrepro_lint import cards, checks
from torchrepro_lint.engine import ENGINE_CODES
from torchrepro_lint.settings.validation import KEYS, checked

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

REPOSITORY = Path(__file__).parents[1]


def run(*args: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "torchrepro_lint", *args]
    return subprocess.run(command, cwd=cwd, capture_output=True, env={**os.environ, **environment})


def test_every_rule_has_a_card_a_check_and_a_changelog_line() -> None:
    assert sorted([*checks.codes(), *ENGINE_CODES]) == sorted(cards.codes())
    changelog = (REPOSITORY / "CHANGELOG.md").read_text()
    assert [code for code in cards.codes() if code not in changelog] == []


def test_generated_files_are_what_the_generator_writes() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/generate", "--check"], cwd=REPOSITORY, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def test_the_generator_writes_what_is_out_of_date_and_names_it(tmp_path: Path) -> None:
    for folder in ("src", "rules", "scripts", "docs"):
        shutil.copytree(REPOSITORY / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "README.md").write_text("<!-- rules -->\nnothing\n<!-- /rules -->\n")
    triggers = tmp_path / "rules" / "catalogue" / "ops" / "triggers.txt"
    triggers.write_text("vision: torchvision.ops.roi_pool\n")
    command = [sys.executable, "scripts/generate"]
    stale = subprocess.run([*command, "--check"], cwd=tmp_path, capture_output=True, text=True)
    assert stale.returncode == 1
    assert [line.partition(":")[0] for line in stale.stdout.splitlines()] == [
        "rules/catalogue/ops/triggers.txt", "README.md",
    ]  # fmt: skip
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert triggers.read_bytes() == (REPOSITORY / "rules" / "catalogue" / "ops" / "triggers.txt").read_bytes()
    assert "TRP201" in (tmp_path / "README.md").read_text()
    assert subprocess.run([*command, "--check"], cwd=tmp_path, capture_output=True).returncode == 0


def test_the_readme_has_every_setting_with_a_value_that_it_may_have() -> None:
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    (example,) = [b for b in re.findall(r"^```toml\n(.*?)^```$", readme, re.M | re.S) if "[tool.torchrepro-lint]" in b]
    table = tomllib.loads(example)["tool"]["torchrepro-lint"]
    assert sorted(table) == sorted(KEYS)
    names = {code: card.name for code, card in cards.load_cards().items()}
    for key, value in table.items():
        checked(key, value, "README.md", names)


@pytest.fixture
def flawed(tmp_path: Path) -> Path:
    """Every bad example of every card, as files of one project."""
    root = tmp_path / "flawed"
    for code, card in cards.load_cards().items():
        bad = (example for example in card.examples() if example.kind == "bad")
        for number, example in enumerate(bad):
            for name, text in example.sources():
                path = root / f"{code}_{number}" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
    (root / "pyproject.toml").write_text("")
    return root


def test_a_run_without_findings_imports_nothing_that_is_slow_to_import(tmp_path: Path) -> None:
    (tmp_path / "clean.py").write_text("import torch\n\ntorch.manual_seed(0)\nprint(torch.rand(2))\n")
    every = imported(tmp_path, "clean.py")
    assert "torchrepro_lint.engine" in every
    assert not {"libcst", "torch", "click", "pathspec", "difflib", "multiprocessing", "hashlib"} & set(every)


def imported(folder: Path, *arguments: str) -> list[str]:
    """The modules that a run imports."""
    command = [sys.executable, "-X", "importtime", "-m", "torchrepro_lint", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0
    return [line.rpartition("|")[2].strip() for line in done.stderr.splitlines()]


def test_a_file_that_starts_no_program_is_not_walked(tmp_path: Path) -> None:
    (tmp_path / "layers.py").write_text("import torch\n\n\ndef scaled(x):\n    return torch.relu(x) * 2\n")
    every = imported(tmp_path, "layers.py")
    assert not {"dataclasses", "inspect"} & set(every)  # a quarter of the time that such a run may take
    ours = [name for name in every if "torchrepro_lint" in name]
    late = ("seeding.interpreter", "loading", "kernels.verdicts", "syntax", "cli.explain")
    assert not [name for name in ours if name.startswith(tuple(f"torchrepro_lint.{part}" for part in late))]
    assert len(ours) <= 97  # each costs a third of a millisecond


def test_a_run_of_which_everything_is_known_imports_no_analysis(tmp_path: Path) -> None:
    (tmp_path / "layers.py").write_text("import torch\n\n\ndef scaled(x):\n    return torch.relu(x) * 2\n")
    imported(tmp_path, "layers.py")
    every = imported(tmp_path, "layers.py")
    assert not {"ast", "dataclasses", "inspect"} & set(every)
    ours = [name for name in every if "torchrepro_lint" in name]
    assert "torchrepro_lint.cache.validity" in ours
    assert not [name for name in ours if "checking" in name or "dataflow" in name or "index" in name]
    assert len(ours) <= 43


def test_findings_that_are_known_are_told_without_reading_the_files_that_they_rest_on(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("seed: 3\n")
    (tmp_path / "setup.cfg").write_text("[metadata]\nname = a\n")
    (tmp_path / "train.py").write_text(
        "import torch\nimport yaml\n\nconfig = yaml.safe_load(open('config.yaml'))\n"
        "torch.manual_seed(config['seed'])\nloader = torch.utils.data.DataLoader([], shuffle=True)\n"
    )
    first, then = (imported(tmp_path, "--exit-zero", "train.py") for _ in range(2))
    late = {"yaml", "configparser", "hashlib", "torchrepro_lint.index"}
    assert "torchrepro_lint.index" in first
    assert "torchrepro_lint.fingerprints" in then
    assert not late & set(then)


def test_a_run_of_which_everything_is_known_compiles_nothing(tmp_path: Path) -> None:
    """Not even annotations: the first `compile` of a process sets up all of Python's syntax tree."""
    (tmp_path / "layers.py").write_text("import torch\n\n\ndef scaled(x):\n    return torch.relu(x) * 2\n")
    script = (
        "import builtins, sys\nfrom torchrepro_lint.cli import main\nreal = compile\n"
        "def heard(source, *given, **named):\n"
        "    sys.stderr.write('compiled' * isinstance(source, str))\n"  # a module without bytecode is bytes
        "    return real(source, *given, **named)\n"
        "builtins.compile = heard\nsys.argv[1:] = ['layers.py']\nmain()\n"
    )
    command = [sys.executable, "-c", script]
    first, then = (subprocess.run(command, cwd=tmp_path, capture_output=True, text=True) for _ in range(2))
    assert (first.returncode, then.returncode) == (0, 0)
    assert "compiled" in first.stderr
    assert "compiled" not in then.stderr


@pytest.mark.slow
def test_the_same_bytes_whatever_the_hash_seed_and_no_slow_import(flawed: Path, tmp_path: Path) -> None:
    """And what the bytes of JSON say is what the schema of the findings describes."""
    files = {name: tmp_path / name for name in ("json", "full", "github")}
    options = [
        "--no-cache",
        "--jobs=1",
        "--exit-zero",
        *(f"--output-file={name}:{file}" for name, file in files.items()),
    ]
    script = (
        "import sys\nfrom torchrepro_lint.cli.program import program\n"
        "program(sys.argv[1:], standalone_mode=False)\n"
        "print([m for m in ('torch', 'libcst.matchers', 'libcst.codemod') if m in sys.modules], file=sys.stderr)\n"
    )

    def reports(seed: str) -> list[bytes]:
        command = [sys.executable, "-c", script, "check", ".", *options]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(command, cwd=flawed, capture_output=True, text=True, env=environment)
        assert (done.returncode, done.stderr.splitlines()[-1]) == (0, "[]")
        return [file.read_bytes() for file in files.values()]

    first = reports("0")
    assert [len(text) > 1000 for text in first] == [True, True, True]
    assert reports("4242") == first
    findings = json.loads(first[0])
    jsonschema.validate(findings, json.loads((REPOSITORY / "docs/schemas/findings.schema.json").read_text()))
    assert {f["code"] for f in findings} >= {"TRP101", "TRP201", "TRP301", "TRP401", "TRP501"}
    assert len({f["fingerprint"] for f in findings}) == len(findings)


@pytest.mark.slow
def test_a_fix_is_what_the_diff_shows_whatever_the_hash_seed_and_is_made_once(flawed: Path, tmp_path: Path) -> None:
    fixed = Path(shutil.copytree(flawed, tmp_path / "fixed"))
    diff = run("check", ".", "--no-cache", "--diff", cwd=flawed, PYTHONHASHSEED="0").stdout
    subprocess.run(["git", "init", "-q"], cwd=flawed, check=True)
    applied = subprocess.run(["git", "apply", "-"], cwd=flawed, input=diff, capture_output=True)
    assert applied.returncode == 0, applied.stderr.decode()
    assert run("check", ".", "--fix", cwd=fixed, PYTHONHASHSEED="77").returncode in (0, 1)
    assert texts(fixed) == texts(flawed)
    for path, text in texts(fixed).items():
        compile(text, path, "exec")
    again = run("check", ".", "--fix", "--output-format", "json", cwd=fixed)
    left = [f for f in json.loads(again.stdout) if f["fix"] and f["fix"]["safety"] == "safe"]
    assert left == []
    assert b"fixed 0" in again.stderr.lower() or b"fixed" not in again.stderr.lower()


def texts(folder: Path) -> dict[str, bytes]:
    """What is in the Python files of a project."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*.py"))}


def test_every_option_is_documented() -> None:
    text = run("check", "--help", cwd=REPOSITORY, COLUMNS="100").stdout.decode()
    options = re.findall(r"^  (?:-\w, )?(--[a-z-]+)(?:[^\n]*?)(?:  +(\S[^\n]*))?\n(\s{10,}\S)?", text, re.MULTILINE)
    assert len(options) >= 18
    assert [name for name, same_line, next_line in options if not (same_line or next_line)] == []


def test_layers() -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    done = subprocess.run(["lint-imports"], cwd=REPOSITORY, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout
