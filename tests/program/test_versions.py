"""The setting `torch` and what it stands for when a rule asks for a version."""

from __future__ import annotations

import pytest

from torchrepro_lint.project.versions import effective, may_be, pins


@pytest.mark.parametrize(
    ("setting", "old"),
    [
        (None, False),
        ("", False),
        ("not a version", False),
        ("2.4", True),
        ("2.4.1+cu121", True),
        ("2.13.0", False),
        (">=1.8", False),
        ("torch>=1.8", False),
        ("==2.4.*", True),
        ("==2.4.1", True),
        ("==2.4.1+cu121", True),
        ("<2.5", True),
        (">=2.0,<2.10", True),
        ("~=2.4.0", True),
        ("<=2.10.0", False),
        ("~=2.4", False),
    ],
)
def test_a_setting_stands_for_the_newest_release_it_allows(setting: str | None, old: bool) -> None:
    assert may_be(setting, "<2.10") is old


def test_a_patch_release_that_is_not_catalogued_is_taken_as_written() -> None:
    assert str(effective("==2.4.1")) == "2.4.1"
    assert str(effective("<=1.12.1")) == "1.12.1"


@pytest.mark.parametrize(
    ("setting", "one"),
    [
        ("==2.4.1", True),
        ("2.4.1", True),
        ("==2.4.*", True),
        ("==2.4.1+cu121", True),
        (">=2.4,<2.5", True),
        ("~=2.4.0", True),
        ("~=2.4", False),
        (">=2.4", False),
        (">=2.15", False),
        ("<2.5", False),
        ("!=2.4.0", False),
        ("no version", False),
    ],
)
def test_a_pin_allows_one_minor_version(setting: str, one: bool) -> None:
    assert pins(setting) is one
