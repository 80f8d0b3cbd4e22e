"""What the catalogue says of PyTorch's back-end switches, held against the PyTorch that is installed."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import pytest
from packaging.version import Version

from torchrepro_lint import catalogue

torch = pytest.importorskip("torch")
TABLE = catalogue.table("backend_flags")


def named(dotted: str) -> Any:
    """The object that a dotted name means."""
    value: Any = torch
    for part in dotted.split(".")[1:]:
        value = getattr(value, part) if hasattr(value, part) else importlib.import_module(f"{value.__name__}.{part}")
    return value


@pytest.mark.parametrize("row", TABLE["owners"], ids=lambda row: row["name"])
def test_the_listed_attributes_exist(row: Mapping[str, Any]) -> None:
    owner = named(row["name"])
    here = Version(torch.__version__)
    for name in (*row["settable"], *row["other"]):
        if Version(row.get("since", {}).get(name, "0")) <= here:
            assert hasattr(owner, name), name


@pytest.mark.parametrize("row", TABLE["owners"], ids=lambda row: row["name"])
def test_an_unknown_attribute_is_met_as_listed(row: Mapping[str, Any]) -> None:
    owner = named(row["name"])
    try:
        owner.no_such_switch = True
    except AttributeError:
        assert row["unknown"] == "raises"
    else:
        del owner.no_such_switch
        assert row["unknown"] == "ignored"


@pytest.mark.parametrize("row", TABLE["misplaced"], ids=lambda row: row["meant"])
def test_misplaced_switches_are_nowhere_but_where_they_belong(row: Mapping[str, Any]) -> None:
    owner, _, name = row["meant"].rpartition(".")
    assert hasattr(named(owner), name)
    for written in row["written"]:
        owner, _, name = written.rpartition(".")
        assert not hasattr(named(owner), name), written


def test_releases_are_listed_in_order() -> None:
    versions = [Version(v) for v in TABLE["torch"]["versions"]]
    assert versions == sorted(set(versions))


def test_every_row_has_a_source() -> None:
    for table in (TABLE, catalogue.table("distributed")):
        for rows in table.values():
            for row in rows if isinstance(rows, list) else [rows]:
                assert row["source"]


@pytest.mark.parametrize("row", TABLE["precision_switch"], ids=lambda row: row["owner"])
def test_the_switches_of_precision_exist(row: Mapping[str, Any]) -> None:
    owner = named(row["owner"])
    assert [name for name in row["switches"] if not hasattr(owner, name)] == []
