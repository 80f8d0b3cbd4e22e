"""A configuration file as facts: the values that its own reader gives, at the places where they are written."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from torchrepro_lint.index import ModuleFacts, ParseError, build
from torchrepro_lint.source import source_from_text

KEYS = st.text("abz019 äé漢#:'\"-{[?!&*,.", min_size=1, max_size=6)
SCALARS = st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(-1e6, 1e6) | KEYS
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3))
DATA = st.dictionaries(KEYS, VALUES, min_size=1, max_size=4)


def facts(text: str, name: str = "config.yaml") -> ModuleFacts:
    return build(source_from_text(text, Path("/project", name), name))


def value(text: str, name: str = "config.yaml") -> Any:
    """What the tree says, with `...` for what is not known."""
    return _value(facts(text, name).tree.body[0].value)  # type: ignore[attr-defined]


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=constant):
            return constant
        case ast.List(elts=items):
            return [_value(item) for item in items]
        case ast.Dict(keys=keys, values=values):
            return {_value(k): _value(v) for k, v in zip(keys, values, strict=True) if k is not None}
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
    return ...


def without_references(data: Any) -> bool:
    return not any(sign in json.dumps(data) for sign in ("${", "???"))


@settings(max_examples=40)
@given(DATA.filter(without_references), st.booleans())
def test_yaml_is_what_its_safe_loader_reads(data: dict[str, Any], flow: bool) -> None:
    text = yaml.safe_dump(data, default_flow_style=flow, allow_unicode=True, width=20)
    assert value(text) == yaml.safe_load(text)


@settings(max_examples=40)
@given(DATA.filter(without_references))
def test_json_is_what_the_standard_library_reads(data: dict[str, Any]) -> None:
    text = json.dumps(data, indent=1)
    assert value(text, "config.json") == json.loads(text)


@pytest.mark.parametrize(
    "text",
    [
        "a: yes\nb: 'yes'\nc: 1e-3\nd: 1.0e-3\ne: 0x1f\nf: 1_000\ng: 12:30\nh: .inf\ni: ~\nj:\nk: ''\n",
        "a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}\ne: {<<: [{c: 4}, *x]}\nf: *x\n",
        "a: 1\na: 2\n",
        "- 1\n- [2, {a: b}]\n",
        "a: |\n  two\n  lines\nb: >\n  one\n  line\nc: !!str 3\nd: !!int '4'\n",
        "%YAML 1.1\n---\na: 1\n...\n",
        "\ufeffa: é\n",
        "just a text\n",
    ],
)
def test_what_yaml_means(text: str) -> None:
    assert value(text) == yaml.safe_load(text)


def test_toml_with_tables_and_places() -> None:
    text = 'a = 1\n[b."c"]\nseed = -3  # why\nname = "x"\n[[d]]\nseed = 1\n[e]\nlong = """\nseed = 4\n"""\n'
    found = facts(text, "config.toml")
    assert value(text, "config.toml") == {
        "a": 1, "b": {"c": {"seed": -3, "name": "x"}}, "d": [{"seed": 1}], "e": {"long": "seed = 4\n"},
    }  # fmt: skip
    places = {n.value: found.text(n) for n in ast.walk(found.tree) if isinstance(n, ast.Constant) and n.lineno > 1}
    assert (places[-3], places["x"], places["name"]) == ("-3", '"x"', "name = ")


def test_a_value_has_its_place_in_characters() -> None:
    found = facts("# é\nä: {ö: ü, seed:   7 }\n")
    (seed,) = (n for n in ast.walk(found.tree) if isinstance(n, ast.Constant) and n.value == 7)
    assert found.range(seed).start == (2, 19)
    assert found.text(seed) == "7"
    assert found.statement_lines(2) == (2, 2)


@pytest.mark.parametrize(
    ("name", "text"),
    [("config.json", '{"a": [1,]}'), ("config.json", '{"a": 1} {'), ("config.json", "[" * 9000),
     ("config.json", "(1, 2)"), ("config.json", ' {"a": 1}'), ("config.toml", "a = "),
     ("config.yaml", "a: *b\n"), ("config.yaml", "\t- a: b: c\n")],
)  # fmt: skip
def test_what_is_broken_is_refused(name: str, text: str) -> None:
    with pytest.raises(ParseError):
        build(source_from_text(text, Path("/project", name), name))


def test_what_a_file_only_refers_to_is_not_known() -> None:
    assert value("a: ${b}\nc: ???\nd: !include x.yaml\ne: !!python/object:os.system {}\n") == dict.fromkeys("acde", ...)


def test_a_comment_of_yaml_begins_after_a_blank() -> None:
    found = facts("a: it's  # noqa: TRP101\nb: x# noqa\n# torchrepro: ignore[TRP104]\nc: 'q'\n")
    assert [(s.line, s.codes) for s in found.source.suppressions] == [(1, ("TRP101",)), (3, ("TRP104",))]
