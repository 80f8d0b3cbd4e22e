"""Score what a tool reports against labelled repositories: recall and precision, by category.

Knows no tool: a `Report` says in which category of the taxonomy (README.md) it claims something, and where.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

PER_PROGRAM = {"seed-missing", "cudnn-deterministic-off", "resume-rng", "framework"}  # one each: the line may differ
CATEGORIES = (
    "seed-missing", "seed-nonconstant", "seed-late", "seed-same-all-workers", "generator-unseeded",
    "loader-generator", "loader-worker-init", "split-generator", "set-epoch-missing", "fs-order", "set-order",
    "cudnn-benchmark", "cudnn-deterministic-off", "det-algos", "autotune", "nondet-op", "resume-rng", "framework",
)  # fmt: skip


@dataclass(frozen=True)
class Label:
    """What an expert says of one place; a category that begins with `NOT-` says that there is nothing to report."""

    file: str
    line: int
    category: str
    confidence: str
    claim: str
    family: str | None = None
    places: frozenset[tuple[str, int]] = frozenset()

    @property
    def counts(self) -> bool:
        """Whether it must be found: debatable ones need not be, and negatives must not be."""
        return self.confidence != "debatable" and self.category in CATEGORIES


@dataclass(frozen=True)
class Repository:
    """A repository at one commit, the files that were read completely, and what was found in them."""

    name: str
    commit: str
    examined: frozenset[str]
    labels: tuple[Label, ...]

    @property
    def folder(self) -> str:
        return self.name.replace("/", "__")


@dataclass(frozen=True)
class Report:
    """One report of a tool: a category, the lines of a file, and further places that it names."""

    category: str
    path: str
    line: int
    last_line: int
    message: str = ""
    families: frozenset[str] = frozenset()  # of random numbers; empty: the tool does not say
    related: tuple[tuple[str, int], ...] = ()
    is_open: bool = False  # the tool itself says that it does not know

    def covers(self, place: tuple[str, int]) -> bool:
        return same(self.path, place[0]) and self.line <= place[1] <= self.last_line


@dataclass
class Count:
    """Labels found of all labels, and right reports of all that are judged."""

    found: int = 0
    labels: int = 0
    right: int = 0
    judged: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(
            self.found + other.found, self.labels + other.labels, self.right + other.right, self.judged + other.judged
        )


@dataclass
class Score:
    """The counts of every category, and what was missed and falsely reported, in words."""

    counts: dict[str, Count] = field(default_factory=dict)
    missed: list[str] = field(default_factory=list)
    false: list[str] = field(default_factory=list)

    def of(self, category: str) -> Count:
        return self.counts.setdefault(category, Count())

    @property
    def total(self) -> Count:
        return sum(self.counts.values(), Count())


def same(one: str, other: str) -> bool:
    return PurePosixPath(one) == PurePosixPath(other)


def read_labels(path: Path) -> list[Repository]:
    """The repositories of one file of labels."""
    return [_repository(record) for record in json.loads(path.read_text(encoding="utf-8"))]


def _repository(record: dict[str, Any]) -> Repository:
    labels = tuple(_label(label) for label in record["labels"])
    return Repository(record["repository"], record["commit"], frozenset(record["examined"]), labels)


def _label(record: dict[str, Any]) -> Label:
    places = {(record["file"], record["line"]), *((file, line) for file, line in record.get("also", ()))}
    fields = {key: record[key] for key in ("file", "line", "category", "confidence", "claim")}
    return Label(**fields, family=record.get("family"), places=frozenset(places))


def hits(report: Report, label: Label) -> bool:
    """Whether a report says what a label says, at the label's place or another where the same report is right."""
    if report.category != label.category:
        return False
    if label.category == "seed-missing" and report.families and label.family and label.family not in report.families:
        return False
    if label.category in PER_PROGRAM and any(same(report.path, file) for file, _ in label.places):
        return True
    return any(report.covers(place) or place in report.related for place in label.places)


def score(repository: Repository, reports: Sequence[Report], into: Score) -> None:
    """Add what `reports` are worth on one repository."""
    for label in repository.labels:
        if label.counts:
            count = into.of(label.category)
            count.labels += 1
            if any(hits(report, label) for report in reports):
                count.found += 1
            else:
                into.missed.append(f"{repository.name} {label.file}:{label.line} {label.category}: {label.claim}")
    for report, right in judged(repository, reports):
        count = into.of(report.category)
        count.judged += 1
        count.right += right
        if not right:
            into.false.append(
                f"{repository.name} {report.path}:{report.line} {report.category}: {report.message[:160]}"
            )


def judged(repository: Repository, reports: Iterable[Report]) -> Iterator[tuple[Report, bool]]:
    """The reports in files that were read completely, and whether each is right. What only touches a debatable label,
    or a negative that is debatable, is no verdict either way; nor is a report on a convolution, whose kernels are
    the matter of the cudnn categories."""
    for report in reports:
        if not any(same(report.path, file) for file in repository.examined) or report.category not in CATEGORIES:
            continue
        if report.category == "nondet-op" and "conv" in report.message.lower():
            continue
        found = [label for label in repository.labels if hits(report, label)]
        if not all(label.confidence == "debatable" for label in found):
            yield report, True
        elif not found and not is_open(report, repository.labels):
            yield report, False


def is_open(report: Report, labels: Iterable[Label]) -> bool:
    return report.is_open or any(
        label.category == f"NOT-{report.category}"
        and label.confidence == "debatable"
        and report.covers((label.file, label.line))
        for label in labels
    )
