"""What docs/pipelines.md tells people to write exists."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import yaml

from torchrepro_lint.report import RENDERERS
from torchrepro_lint.settings.validation import KEYS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "pipelines.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.M | re.S)


def test_every_option_exists() -> None:
    command = [sys.executable, "-m", "torchrepro_lint", "check", "--help"]
    known = set(re.findall(r"--[a-z-]+", subprocess.check_output(command, text=True)))
    lines = [line for line in PAGE.splitlines() if "reviewdog" not in line]
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", "\n".join(lines))) <= known


def test_every_format_is_told_and_exists() -> None:
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \| ", PAGE.partition("| format |")[2], re.M)
    assert {name for row in rows for name in re.findall(r"\w+", row)} == set(RENDERERS)
    assert set(re.findall(r"-o ([a-z]+):", PAGE)) <= set(RENDERERS)


def test_the_workflows_use_what_the_action_has() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    workflows = [yaml.safe_load(block) for block in blocks("yaml")]
    steps = [s for w in workflows for job in w.get("jobs", {}).values() for s in job["steps"]]
    used = [step for step in steps if step["uses"].startswith("torchrepro/torchrepro-lint@")]
    assert used
    assert {name for step in used for name in step["with"]} <= set(action["inputs"])
    hooks = {hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}
    assert {hook["id"] for w in workflows for repo in w.get("repos", ()) for hook in repo["hooks"]} <= hooks


def test_the_settings_exist() -> None:
    tables = [tomllib.loads(block)["tool"] for block in blocks("toml")]
    ours = [key for table in tables for key in table.get("torchrepro-lint", {})]
    assert ours == ["baseline"]
    assert set(ours) <= set(KEYS)
