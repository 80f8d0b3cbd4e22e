"""Whatever the text and the ranges: frames are drawn, fit, and say nothing that a terminal would obey."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from torchrepro_lint.model import Level, Position, Range
from torchrepro_lint.report.snippet import Annotation, Frame
from torchrepro_lint.report.terminal import Paint, columns

LINES = st.lists(
    st.text(alphabet=st.sampled_from("ab (\t)漢e\u0301\x1b\u202e=,"), max_size=150), min_size=1, max_size=12
)
POSITIONS = st.builds(Position, st.integers(1, 14), st.integers(1, 160))
RANGES = st.tuples(POSITIONS, POSITIONS).map(lambda ends: Range(min(ends), max(ends)))
LABELS = st.sampled_from(["", "seeded here", "drawn there"])


@settings(max_examples=300)
@example(["=" * 45], Range(Position(1, 46), Position(2, 1)), [], 50)  # the place behind a line that fills the row
@given(LINES, RANGES, st.lists(st.tuples(RANGES, LABELS), max_size=3), st.integers(50, 120))
def test_any_frame_fits_its_width_and_underlines_the_finding(
    lines: list[str], primary: Range, related: list[tuple[Range, str]], width: int
) -> None:
    annotations = [
        Annotation(primary, "", True),
        *(Annotation(place, label, False) for place, label in related),
    ]
    rows = list(Frame(lines, annotations, Level.WARNING, 2, width, Paint(False)).draw())
    assert all(columns(row) <= width for row in rows)
    assert not any(character in row for row in rows for character in "\x1b\u202e\n\t")
    numbers = [int(row[:2]) for row in rows if row[:2].strip().isdecimal()]
    assert numbers == sorted(set(numbers))
    if primary.start.line <= len(lines):
        assert primary.start.line in numbers
        assert any("^" in row for row in rows)
