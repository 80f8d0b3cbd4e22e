"""The catalogue of operations: its form, its alerts, and what it says held against the PyTorch that is installed."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from packaging.version import Version

from torchrepro_lint import catalogue
from torchrepro_lint.cards import rules_dir
from torchrepro_lint.kernels import operations, triggers

ROOT = Path(__file__).parents[2]
FAMILIES = sorted(path.stem for path in (rules_dir() / "catalogue" / "ops").glob("*.toml"))
SCHEMA = json.loads((ROOT / "docs" / "schemas" / "ops.schema.json").read_text(encoding="utf-8"))
KINDS = ("functions", "methods", "modules")


def tables() -> Iterator[tuple[str, Mapping[str, Any]]]:
    for family in FAMILIES:
        yield family, catalogue.table(f"ops/{family}")


def operations_of() -> list[tuple[str, Mapping[str, Any]]]:
    return [(family, row) for family, table in tables() for row in table["op"]]


def spellings(row: Mapping[str, Any]) -> list[str]:
    return [name for kind in KINDS for name in row.get(kind, ())]


REPORTED = [(family, row) for family, row in operations_of() if row.get("report") != "never"]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_row_is_in_form(family: str) -> None:
    table = catalogue.table(f"ops/{family}")
    errors = jsonschema.Draft202012Validator(SCHEMA).iter_errors(table)
    assert [f"{list(error.path)}: {error.message}" for error in errors] == []
    assert table["family"] == family


def test_the_schema_refuses_what_is_not_in_form() -> None:
    table = {"family": "x", "sources": ["somewhere"], "op": [{"id": "a", "direction": "sideways"}]}
    assert not jsonschema.Draft202012Validator(SCHEMA).is_valid(table)


def test_ids_are_unique() -> None:
    ids = [row["id"] for _, row in operations_of()]
    assert sorted(ids) == sorted(set(ids))


def test_every_alert_belongs_to_one_operation_and_every_known_alert_to_some() -> None:
    owners: dict[tuple[str, str], list[str]] = {}
    for _, row in operations_of():
        for device, names in row.get("alerts", {}).items():
            for name in names:
                owners.setdefault((device, name), []).append(row["id"])
    assert {alert: ids for alert, ids in owners.items() if len(ids) > 1} == {}
    lines = (ROOT / "tests" / "data" / "alert_strings.txt").read_text(encoding="utf-8").splitlines()
    known = [tuple(line.split(" ", 1)) for line in lines if not line.startswith("#")]
    assert len(known) == len(set(known))
    assert set(known) == set(owners)


def test_an_alert_of_another_operation_exists() -> None:
    alerting = {row["id"] for _, row in operations_of() if "alerts" in row}
    assert {row["alert_of"] for _, row in operations_of() if "alert_of" in row} <= alerting


def test_a_row_that_raises_names_its_alert() -> None:
    for _, row in REPORTED:
        if row.get("package", "torch") == "torch" and any(b["flag"] == "raises" for b in row["behaviour"]):
            assert "alerts" in row or "alert_of" in row, row["id"]


def test_triggers_list_exactly_what_the_rows_report() -> None:
    wanted: dict[str, list[str]] = {}
    for family, row in REPORTED:
        for name in spellings(row):
            if name not in wanted.setdefault(family, []):
                wanted[family].append(name)
    found: dict[str, list[str]] = {}
    for name, families in triggers.triggers().items():
        for family in families:
            found.setdefault(family, []).append(name)
    assert {f: sorted(names) for f, names in found.items()} == {f: sorted(n) for f, n in wanted.items() if n}


@pytest.mark.parametrize("row", [row for _, row in REPORTED], ids=lambda row: row["id"])
def test_conditions_name_parameters(row: Mapping[str, Any]) -> None:
    signatures = [operations.signature(name) for name in spellings(row)]
    if "package" not in row:  # another package's layers may be judged by their names alone
        assert all(s.parameters or s.called for s in signatures)
    behaviours = [c for b in row["behaviour"] for c in b.get("when", ())]
    for condition in (*row.get("when", ()), *row.get("exact", ()), *behaviours):
        for name, test in condition.items():
            assert any(name in s.parameters or name in s.called for s in signatures), name
            other = test.get("at_least")
            assert other is None or any(other in s.parameters for s in signatures)


@pytest.mark.parametrize("row", [row for _, row in operations_of()], ids=lambda row: row["id"])
def test_each_release_has_at_most_one_unconditional_behaviour(row: Mapping[str, Any]) -> None:
    if row.get("package", "torch") != "torch":
        return
    for version in catalogue.table("backend_flags")["torch"]["versions"]:
        release = Version(version).release
        for device in row["devices"]:
            plain = [
                b
                for b in row["behaviour"]
                if b.get("device", "cuda") == device and "when" not in b
                and operations.in_range(release, b.get("torch", ""))
            ]  # fmt: skip
            assert len(plain) <= 1, (version, device)


@pytest.mark.parametrize(
    ("release", "text", "holds"),
    [
        ((2, 13, 0), ">=2.13", True),
        ((2, 9, 1), ">=2.10", False),
        ((2, 9, 1), "<2.10", True),
        ((2, 6), ">=2.1,<2.6", False),
        ((2, 5, 1), ">=2.1,<2.6", True),
        ((2, 5), "==2.5", True),
        ((2, 5, 0), "<=2.5", True),
        ((2, 5, 1), ">2.5", True),
        ((1, 8), "", True),
    ],
)
def test_ranges_compare_releases(release: tuple[int, ...], text: str, holds: bool) -> None:
    assert operations.in_range(release, text) is holds


# -- against PyTorch ------------------------------------------------------------------------------------------------
TORCH_NAMES = sorted({n for _, row in operations_of() for n in spellings(row) if n.startswith("torch.")})


def named(dotted: str) -> Any:
    torch = pytest.importorskip("torch")
    value: Any = torch
    for part in dotted.split(".")[1:]:
        value = getattr(value, part) if hasattr(value, part) else importlib.import_module(f"{value.__name__}.{part}")
    return value


@pytest.mark.parametrize("name", TORCH_NAMES)
def test_the_spelling_exists(name: str) -> None:
    assert callable(named(name))


@pytest.mark.parametrize("name", [n for n in TORCH_NAMES if n.startswith("torch.nn.") and n in triggers.triggers()])
def test_the_signature_agrees(name: str) -> None:
    """Of what is written in Python; what C++ defines has none to compare with."""
    try:
        actual = inspect.signature(named(name))
    except ValueError:
        return
    parameters = [p for p in actual.parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    for parameter, (place, default) in operations.signature(name).parameters.items():
        if place is None or not parameters:
            continue
        assert parameters[place].name == parameter
        given = parameters[place].default
        if default is not None and given is not inspect.Parameter.empty and given is not None:
            assert given == ast.literal_eval(default)


def test_what_alerts_on_the_cpu_raises_there() -> None:
    """Each run is a small call of the operation under the flag; the error names the alert of its row."""
    torch = pytest.importorskip("torch")
    x = torch.arange(16.0).reshape(1, 1, 4, 4)
    pooled, where = torch.nn.functional.max_pool2d(x, 2, return_indices=True)
    volume, inside = torch.nn.functional.max_pool3d(x[None], (1, 2, 2), return_indices=True)
    calls = {
        "put": lambda: torch.zeros(4).put_(torch.tensor([0, 0]), torch.ones(2)),
        "max-unpool2d": lambda: torch.nn.functional.max_unpool2d(pooled, where, 2),
        "max-unpool3d": lambda: torch.nn.functional.max_unpool3d(volume, inside, (1, 2, 2)),
    }
    alerting = {row["id"]: row["alerts"]["cpu"] for _, row in operations_of() if "cpu" in row.get("alerts", {})}
    assert set(alerting) == {*calls, "resize-quantized"}  # quantized tensors need an engine that not all have
    torch.use_deterministic_algorithms(True)
    try:
        for operation, call in calls.items():
            with pytest.raises(RuntimeError, match=alerting[operation][0]):
                call()
        torch.zeros(4).put_(torch.tensor([0, 0]), torch.ones(2), accumulate=True)
    finally:
        torch.use_deterministic_algorithms(False)


# -- against PyTorch's own lists -------------------------------------------------------------------------------------
LISTS = {"switches": "will act\ndeterministically", "raises": "will throw a\n:class:`RuntimeError`"}


def documented(flag: str) -> set[str]:
    """The names in one of the lists of `use_deterministic_algorithms`."""
    torch = pytest.importorskip("torch")
    text = inspect.cleandoc(torch.use_deterministic_algorithms.__doc__ or "")  # Python 3.13 does so itself
    after = text.partition(f"normally-nondeterministic operations {LISTS[flag]}")[2]
    items = after.partition("\nThe following")[0].partition("\nIn addition")[0]
    names = set(re.findall(r"^    \* :\w+:`([\w.]+)`", items, re.MULTILINE))
    assert len(names) > 15
    return names


def flags_here(row: Mapping[str, Any], *devices: str) -> set[str]:
    """What a row says of the PyTorch that is installed."""
    release = Version(pytest.importorskip("torch").__version__).release
    return {
        b["flag"]
        for b in row["behaviour"]
        if b.get("device", "cuda") in devices and operations.in_range(release, b.get("torch", ""))
    }


@pytest.mark.parametrize("flag", LISTS)
def test_what_the_documentation_lists_the_catalogue_says_too_or_calls_wrong(flag: str) -> None:
    syntax = {"torch.Tensor.__getitem__": "x[index]"}
    missing = []
    for name in sorted(documented(flag)):
        rows = [r for _, r in operations_of() if name in spellings(r) or syntax.get(name) in r.get("syntax", ())]
        agree = any(flag in flags_here(row, "cuda", "cpu") for row in rows)
        if not agree and not any("docs_wrong" in row for row in rows):
            missing.append(name)
    assert missing == []


@pytest.mark.parametrize("flag", LISTS)
def test_what_the_catalogue_says_the_documentation_lists_too_or_is_called_wrong(flag: str) -> None:
    """A row that fires another one's alert is listed under that one's name."""
    listed = documented(flag)
    by_id = {row["id"]: row for _, row in operations_of()}
    own = [row for _, row in REPORTED if "package" not in row and flag in flags_here(row, "cuda")]
    assert len(own) > 10
    names = {row["id"]: [*spellings(row), *spellings(by_id.get(row.get("alert_of", ""), {}))] for row in own}
    assert [row["id"] for row in own if listed.isdisjoint(names[row["id"]]) and "docs_wrong" not in row] == []
