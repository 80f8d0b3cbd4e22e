"""How a project's formatter lays code out, by its settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchrepro_lint.formatter import Style, project_style

PRE_COMMIT = ".pre-commit-config.yaml"


@pytest.mark.parametrize(
    ("name", "text", "style"),
    [
        ("pyproject.toml", "[tool.ruff]\nline-length = 120\n", Style(120, None)),
        ("pyproject.toml", '[tool.ruff.format]\nquote-style = "single"\n', Style(88, "'", hangs=True)),
        ("pyproject.toml", '[tool.ruff.format]\nquote-style = "preserve"\n', Style(88, None, hangs=True)),
        ("pyproject.toml", '[tool.ruff.format]\nindent-style = "tab"\n', Style(88, '"', hangs=True)),
        ("pyproject.toml", "[tool.black]\n", Style(88, '"', hangs=True)),
        (
            "pyproject.toml",
            "[tool.black]\nline-length = 100\nskip-string-normalization = true\n",
            Style(100, None, hangs=True),
        ),
        ("ruff.toml", "line-length = 99\n", Style(99, None)),
        (".flake8", "[flake8]\nmax-line-length = 110\n", Style(110, None)),
        ("setup.cfg", "[flake8]\nmax_line_length = 110\n", Style(110, None)),
        (PRE_COMMIT, "repos:\n- repo: x\n  hooks:\n  - id: black\n", Style(88, '"', hangs=True)),
        (PRE_COMMIT, "    hooks:\n      - id: isort\n      - id: ruff-format  # last\n", Style(88, '"', hangs=True)),
        (PRE_COMMIT, "  - id: black\n    args: [-l, '100']\n  - id: isort\n", Style(100, '"', hangs=True)),
        (PRE_COMMIT, "  - id: black\n    args:\n      - --line-length=99\n", Style(99, '"', hangs=True)),
        (PRE_COMMIT, "  - id: black\n    args: [--skip-string-normalization]\n", Style(88, None, hangs=True)),
        (PRE_COMMIT, "  - id: black\n  - id: flake8\n    args: [--line-length=99]\n", Style(88, '"', hangs=True)),
        (PRE_COMMIT, "#  - id: black\n  - id: blacken-docs\n", Style()),
        ("pyproject.toml", '[project]\nname = "x"\n', Style()),
        ("pyproject.toml", "not toml", Style()),
        ("pyproject.toml", "tool = 3\n", Style()),
        (".flake8", "no section\n", Style()),
        (".flake8", "[flake8]\nmax-line-length = many\n", Style()),
    ],
)
def test_the_formatters_settings_are_read(name: str, text: str, style: Style, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    assert project_style(tmp_path) == style


def test_a_project_without_a_formatter_says_nothing(tmp_path: Path) -> None:
    assert project_style(tmp_path) == Style()
