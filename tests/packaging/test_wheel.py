"""What is shipped: the sdist builds the wheel, and the wheel alone, installed, knows every rule."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

from made_once import made_once
from repository import git
from torchrepro_lint import __version__

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
PACKAGE = "torchrepro_lint"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that has what building requires, and no more: made once for all."""

    def made(folder: Path) -> None:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
        install(environment(folder), "build", *project["build-system"]["requires"], dependencies=True)

    return made_once(tmp_path_factory, "builder", made) / "bin" / "python"


@pytest.fixture(scope="module")
def wheel(builder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the sdist, built from this checkout."""
    build = [builder, "-m", "build", "--no-isolation", str(ROOT), "--outdir"]
    folder = made_once(
        tmp_path_factory, "dist", lambda to: subprocess.run([*build, to], check=True, capture_output=True)
    )
    [built] = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment's interpreter: the wheel is installed there, its dependencies lent by this one."""

    def installed(folder: Path) -> None:
        python = environment(folder)
        install(python, str(wheel))
        lent = site_packages(python) / "lent.pth"
        lent.write_text(sysconfig.get_path("purelib") + "\n" + sysconfig.get_path("platlib") + "\n")

    return made_once(tmp_path_factory, "installed", installed) / "bin" / "python"


def environment(folder: Path) -> Path:
    """The interpreter of a new, bare virtual environment in `folder`."""
    venv.create(folder, symlinks=True)
    return folder / "bin" / "python"


def install(python: Path, *what: str, dependencies: bool = False) -> None:
    """Install into the environment of `python`."""
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--no-compile"]
    options = [] if dependencies else ["--no-deps"]
    subprocess.run([*pip, *options, *what], check=True, capture_output=True)


def site_packages(python: Path) -> Path:
    """Where the environment of `python` keeps what is installed."""
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    return Path(subprocess.check_output([python, "-c", code], text=True).strip())


def run(python: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the installed linter in `folder`."""
    command = [str(python.with_name("torchrepro-lint")), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def rules() -> dict[str, bytes]:
    """Every card and every catalogue file of this checkout."""
    found = [*ROOT.glob("rules/*/*.md"), *ROOT.glob("rules/catalogue/**/*.toml")]
    return {path.relative_to(ROOT / "rules").as_posix(): path.read_bytes() for path in found}


def test_the_wheel_holds_every_rule_as_it_is(wheel: Path) -> None:
    prefix = f"{PACKAGE}/_rules/"
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.startswith(prefix)]
        shipped = {name.removeprefix(prefix): archive.read(name) for name in names}
    assert rules()
    assert rules().items() <= shipped.items()


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.split("/")[0].partition("-")[0] for name in names} == {PACKAGE}
    assert f"{PACKAGE}/py.typed" in names


def test_its_page_on_pypi_leads_nowhere_that_pypi_does_not_have(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        [name] = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
        metadata = message_from_bytes(archive.read(name))
    links = re.findall(r"\]\(([^)\s]+)\)", str(metadata.get_payload()))
    assert "https://github.com/torchrepro/torchrepro-lint/blob/main/docs/editors.md" in links
    assert [link for link in links if not link.startswith(("https://", "#"))] == []
    assert metadata["Version"] == __version__


def test_the_sdist_has_all_that_its_tests_read(wheel: Path, tmp_path: Path) -> None:
    [sdist] = wheel.parent.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    [top] = tmp_path.iterdir()
    if (ROOT / ".git").exists():
        tracked = git(ROOT, "ls-files", "-z").split("\0")
        assert [name for name in tracked if (ROOT / name).is_file() and not (top / name).exists()] == []
    some = (
        "test_readme.py",
        "test_pipelines_page.py",
        "test_exam.py",
        "packaging/test_action.py",
        "cli/test_add_noqa.py",
    )
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-m", "not slow", *(f"tests/{name}" for name in some)]
    environment = {**os.environ, "PYTHONPATH": str(top / "src")}
    done = subprocess.run(command, cwd=top, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_torch_is_only_asked_for_by_an_extra(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        [metadata] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        requirements = message_from_bytes(archive.read(metadata)).get_all("Requires-Dist", [])
    torch = [line for line in requirements if line.startswith("torch")]
    assert torch
    assert all("extra ==" in line for line in torch)


def test_every_rule_is_known_from_an_empty_folder(python: Path, tmp_path: Path) -> None:
    done = run(python, tmp_path, "rule", "--all", "--output-format", "json")
    assert done.returncode == 0, done.stderr
    cards = {Path(name).name[:6] for name in rules() if Path(name).name.startswith("TRP")}
    assert {rule["code"] for rule in json.loads(done.stdout)} == cards


def test_the_installed_linter_lints(python: Path, tmp_path: Path) -> None:
    Path(tmp_path, "train.py").write_text("import torch\n\ntorch.backends.cudnn.benchmark = True\n")
    done = run(python, tmp_path, "check", ".", "--output-format", "concise")
    assert done.returncode == 1, done.stderr
    assert "train.py:3:" in done.stdout
    assert "TRP401" in done.stdout


def test_an_editable_install_leaves_no_copy_behind(tmp_path: Path) -> None:
    python = environment(tmp_path)
    install(python, "--editable", str(ROOT))
    assert not Path(site_packages(python), PACKAGE).exists()
    code = "import torchrepro_lint; print(torchrepro_lint.__file__)"
    found = subprocess.check_output([python, "-c", code], text=True, cwd=tmp_path)
    assert Path(found.strip()) == ROOT / "src" / PACKAGE / "__init__.py"


def test_the_installed_linter_has_its_page_and_is_found_by_flake8(python: Path, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import torch\n\ntorch.backends.cudnn.benchmark = True\n")
    page = run(python, tmp_path, ".", "--output-format", "html").stdout
    assert (page.count("<article "), "addEventListener" in page, "prefers-color-scheme" in page) == (1, True, True)
    pytest.importorskip("flake8")
    command = [python, "-m", "flake8", "--select=TRP", "train.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("train.py:3:1: TRP401 "), done.stdout + done.stderr
