"""Lines of a list of requirements: `packaging` reads the same in all that it takes."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import InvalidRequirement
from packaging.requirements import Requirement as Standard
from packaging.specifiers import SpecifierSet

from torchrepro_lint.requirements import of_pyproject

VERSION = st.from_regex(r"\A[0-9]{1,2}(\.[0-9]{1,2}){0,3}(rc1|\.dev2|\.post1)?\Z")
CLAUSE = st.tuples(st.sampled_from(["==", ">=", "<=", "<", ">", "~=", "!="]), st.sampled_from(["", " "]), VERSION)
SPECIFIER = st.lists(CLAUSE.map("".join), max_size=3).map(",".join)
LINE = st.tuples(
    st.sampled_from(["torch", "Torch", "torch[a,b]", " torch ", "torch.x"]),
    st.sampled_from(["", " "]),
    SPECIFIER | SPECIFIER.map(lambda text: f"({text})"),
    st.sampled_from(["", " ", '; python_version > "3.9"', " ;sys_platform=='linux'"]),
).map("".join)


@given(LINE)
def test_packaging_agrees(line: str) -> None:
    document = {"project": {"dependencies": [line]}}
    (ours,) = of_pyproject(Path("pyproject.toml"), document)
    try:
        standard = Standard(line)
    except InvalidRequirement:
        return
    assert ours.name == standard.name.lower()
    assert SpecifierSet(ours.specifier or "") == standard.specifier
