"""What a project's own lists say of its torch version."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchrepro_lint.settings import project_torch


@pytest.mark.parametrize(
    ("pyproject", "wanted"),
    [
        ("[project]\ndependencies = ['numpy', 'torch>=2.1,<2.5']", ">=2.1,<2.5"),
        ("[project]\ndependencies = ['Torch == 2.1.0+cu118 ; python_version > \"3.9\"']", "== 2.1.0+cu118"),
        ("[project]\ndependencies = ['torch[opt-einsum] (>=2.0)']", ">=2.0"),
        ("[project]\ndependencies = ['torch', 'torchvision==0.1', 'torch-geometric>=2', 'torch.x>3']", None),
        (
            "[project]\ndependencies = ['torch @ https://x.org/whl/cu118/torch-2.1.2%2Bcu118-cp310.whl']",
            "==2.1.2",
        ),
        (
            "[project]\ndependencies = ['torch']\n[project.optional-dependencies]\ngpu = ['torch~=2.3']",
            "~=2.3",
        ),
        ("[dependency-groups]\ntest = [{include-group = 'x'}, 'torch<3']", "<3"),
        ("[tool.poetry.dependencies]\ntorch = '^2.1'", ">=2.1,<3"),
        ("[tool.poetry.dependencies]\ntorch = '~2.1'", ">=2.1,<2.2"),
        ("[tool.poetry.dependencies]\ntorch = '2.1.*'", "==2.1.*"),
        ("[tool.poetry.dependencies]\ntorch = '>=2.0,!=2.0.1'", ">=2.0,!=2.0.1"),
        ("[tool.poetry.dependencies]\ntorch = {version = '~2', source = 'x'}", ">=2,<3"),
        ("[tool.poetry.dependencies]\ntorch = [{url = 'u'}, {version = '^2.0.1'}]", ">=2.0.1,<3"),
        ("[tool.poetry.dependencies]\ntorch = '*'", None),
        ("[tool.poetry.group.dev.dependencies]\ntorch = '2.1'", "==2.1"),
        ("[project]\nname = 'x'\ndependencies = 3", None),
    ],
)
def test_pyproject(tmp_path: Path, pyproject: str, wanted: str | None) -> None:
    (tmp_path / "pyproject.toml").write_text(pyproject)
    assert project_torch(tmp_path) == wanted


@pytest.mark.parametrize(
    ("requirements", "wanted"),
    [
        ("numpy\n  torch==2.1.0  # pinned\n", "==2.1.0"),
        ("torch==2.1.0 --hash=sha256:00 \\\n", "==2.1.0"),
        ("torch>=1.13.1; sys_platform == 'linux'\r\n", ">=1.13.1"),
        ("-r base.txt\n# torch==1.0\ntorch\ntorchaudio==2.0\n", None),
        ("torch @ file:///wheels/torch-2.2.0-cp311.whl", "==2.2.0"),
    ],
)
def test_requirements(tmp_path: Path, requirements: str, wanted: str | None) -> None:
    (tmp_path / "requirements.txt").write_text(requirements)
    assert project_torch(tmp_path) == wanted


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [
        ("dependencies:\n  - python=3.8\n  - pytorch=1.11.0\n", "==1.11.0"),
        ("dependencies:\n  - pytorch::pytorch=2.1  # a minor version\n", "==2.1.*"),
        ("dependencies:\n- pytorch=1.13.1=py3.10_cuda11.7_0\n", "==1.13.1"),
        ("dependencies:\n  - pytorch==2.1\n", "==2.1"),
        ("dependencies:\n  - pytorch>=2.0,<2.3\n", ">=2.0,<2.3"),
        ("dependencies:\n  - pip:\n    - 'torch==2.2.0'\n", "==2.2.0"),
        ("dependencies:\n  - pytorch\n  - pytorch-cuda=11.8\n  - torchvision=0.15\n", None),
    ],
)
def test_environments(tmp_path: Path, environment: str, wanted: str | None) -> None:
    (tmp_path / "environment.yml").write_text(environment)
    assert project_torch(tmp_path) == wanted


@pytest.mark.parametrize(
    ("setup", "wanted"),
    [
        ("setup(name='x', install_requires=['numpy', 'torch>=1.2,<1.5'])", ">=1.2,<1.5"),
        ("setup(install_requires=['torchvision==0.3', 'torch==1.2'])", "==1.2"),
        ('install_requires = [\n    "torchvision==0.3",\n    "torch==1.1.0",\n]\n', "==1.1.0"),
        ("from torch.utils import cpp_extension\n# 'torch==1.0'\nsetup(install_requires=['torch', 'torch.x>3'])", None),
    ],
)
def test_setup_py(tmp_path: Path, setup: str, wanted: str | None) -> None:
    (tmp_path / "setup.py").write_text(setup)
    assert project_torch(tmp_path) == wanted


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("setup.cfg", "[options]\ninstall_requires =\n    numpy\n    torch==1.4.0\n", "==1.4.0"),
        ("setup.cfg", "[options]\ninstall_requires = torch>=1.2,<1.6\n[flake8]\nignore = E501\n", ">=1.2,<1.6"),
        ("Pipfile", "[packages]\nnumpy = '*'\ntorch = '==1.5.0'\n", "==1.5.0"),
        ("Pipfile", "[packages]\ntorch = {version = '~=1.4.0', index = 'x'}\n", "~=1.4.0"),
        ("Pipfile", "[packages]\ntorch = '*'\n", None),
        ("requirement.txt", "torch==1.3.1\n", "==1.3.1"),
        ("requirements/base.txt", "torch==1.5.0\n", "==1.5.0"),
        ("Dockerfile", "FROM pytorch/pytorch:1.2-cuda10.0-cudnn7-runtime\n", ">=1.2"),
        ("Dockerfile", "FROM pytorch/pytorch:2.1.0-cuda12.1-cudnn8-runtime\n", None),
    ],
)
def test_other_lists(tmp_path: Path, name: str, text: str, wanted: str | None) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    assert project_torch(tmp_path) == wanted


def test_pyproject_goes_first_and_the_plain_requirements_next(tmp_path: Path) -> None:
    assert project_torch(tmp_path) is None
    (tmp_path / "requirements-dev.txt").write_text("torch==2.0\n")
    assert project_torch(tmp_path) == "==2.0"
    (tmp_path / "requirements.txt").write_text("torch==2.1\n")
    assert project_torch(tmp_path) == "==2.1"
    (tmp_path / "pyproject.toml").write_text("[project]\ndependencies = ['torch==2.2']\n")
    assert project_torch(tmp_path) == "==2.2"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("1. 1.1.0 =< PyTorch < 1.5.0\n2. cuda=9.0\n", ">=1.1.0"),
        ("Tested with Python 3.6 and [PyTorch](https://pytorch.org) v1.0.1, torchvision 0.2", ">=1.0.1"),
        ("```\npip install torch==1.4.0 torchvision==0.5.0\n```", ">=1.4.0"),
        ("* pytorch (>= 0.4 or 1.2)\n* pytorch-lightning 1.1\n", ">=0.4"),
        ("Pytorch version: 1.1.0", ">=1.1.0"),
        ("PyTorch版本 1.2，Python 3.6", ">=1.2"),
        ("* PyTorch：0.4.0\n* CUDA：9.0", ">=0.4.0"),
        ("![](https://img.shields.io/badge/PyTorch-1.4-red)", ">=1.4"),
        ("PyTorch 1.9 or later; wheels for torch-2.12", None),
        ("Wheels are there for PyTorch 1.4.0, PyTorch 1.5.0 and PyTorch 2.8.0", None),
        ("The model has 1.2 million weights. PyTorch is needed.\n1.3 times faster\ntorchaudio 0.7", None),
    ],
)
def test_a_readme_that_speaks_of_an_old_release(tmp_path: Path, text: str, wanted: str | None) -> None:
    """It counts where no list says more, as far as it names releases that would not be thought of."""
    (tmp_path / "ReadMe.md").write_text(text)
    assert project_torch(tmp_path) == wanted
    (tmp_path / "requirements.txt").write_text("torch>=2.0\n")
    assert project_torch(tmp_path) == ">=2.0"


def test_the_readme_of_a_folder_counts_where_the_projects_own_says_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "pytorch"
    folder.mkdir()
    (tmp_path / "README.md").write_text("What is needed is said in each folder.\n")
    (folder / "README.md").write_text("- PyTorch >= 0.4.0 (with suitable CUDA and CuDNN version)\n")
    assert project_torch(tmp_path) == ">=0.4.0"
    (tmp_path / "README.md").write_text("PyTorch 2.1\n")
    assert project_torch(tmp_path) is None


def test_a_broken_pyproject_is_told_and_the_other_lists_count(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project\n")
    (tmp_path / "requirements.txt").write_text("torch==2.1\n")
    told: list[tuple[str, str]] = []
    assert project_torch(tmp_path, lambda path, reason: told.append((path.name, reason))) == "==2.1"
    assert [name for name, _ in told] == ["pyproject.toml"]
    assert told[0][1].startswith("1:9: broken TOML")
