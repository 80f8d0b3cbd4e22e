"""Findings as SARIF 2.1.0, for code scanning on GitHub and other hosts, and for viewers.

What comments or a baseline silence is there too, marked so. Columns count characters (unicodeCodePoints).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from torchrepro_lint import __version__
from torchrepro_lint.cards import Card, load_card
from torchrepro_lint.engine import IN_BASELINE
from torchrepro_lint.model import Certainty, Edit, Finding, Fix, Level, Location
from torchrepro_lint.report import Context
from torchrepro_lint.report.json_rows import members
from torchrepro_lint.report.links import HOME, rule_url
from torchrepro_lint.report.places import shown_path
from torchrepro_lint.report.positions import Files, uri, whole

if TYPE_CHECKING:
    from torchrepro_lint.engine import Result


_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_BASE = "%SRCROOT%"
_MAX_DESCRIPTION = 1024  # characters; GitHub refuses more
_PRECISION = {Certainty.CERTAIN: "very-high", Certainty.LIKELY: "high", Certainty.DEPENDS: "medium"}
_SEVERITY = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "recommendation"}
_LINK = re.compile(r"\[(?=[^\]]*\]\()")
_Suppressions = list[dict[str, str]]
_LENGTH = 100
_FACTOR = 37
_MASK = (1 << 64) - 1
_END = 65535  # stands after the last character, and nulls after it
_FIRST_FACTOR = pow(_FACTOR, _LENGTH, 1 << 64)


def render(result: Result, context: Context) -> Iterator[str]:
    """The whole log: one run."""
    log = _Log(result, context)
    yield f'{{"$schema": "{_SCHEMA}",\n"version": "2.1.0",\n"runs": ['
    yield from members(log.head(), "results", log.results())
    yield "]}\n"


class _Log:
    """One run of the tool, as SARIF has it."""

    def __init__(self, result: Result, context: Context) -> None:
        self.result = result
        self.context = context
        self.files = Files(result)
        self.codes = sorted({finding.code for finding, _ in self._all()})
        self._hashes: dict[str, list[str]] = {}

    def head(self) -> dict[str, Any]:
        """All of the run but its results."""
        base = self.context.cwd.as_uri().rstrip("/") + "/"
        return {
            "tool": {"driver": self._driver()},
            "invocations": [{"executionSuccessful": not self.result.errors}],
            "columnKind": "unicodeCodePoints",
            "originalUriBaseIds": {_BASE: {"uri": base, "description": {"text": "The top of the checked out code."}}},
        }

    def results(self) -> Iterator[dict[str, Any]]:
        """One for each finding."""
        return (self._result(finding, suppressions) for finding, suppressions in self._all())

    def _all(self) -> list[tuple[Finding, _Suppressions]]:
        """Every finding, with what silences it."""
        known: _Suppressions = [{"kind": "external", "status": "accepted", "justification": "in the baseline"}]
        found: list[tuple[Finding, _Suppressions]] = [(finding, []) for finding in self.result.findings]
        found += [(finding, known) for finding in self.result.left_out.get(IN_BASELINE, ())]
        found += [(finding, [{"kind": "inSource", "status": "accepted"}]) for finding in self.result.suppressed]
        return sorted(found, key=lambda item: item[0].sort_key)

    def _driver(self) -> dict[str, Any]:
        return {
            "name": "torchrepro-lint",
            "informationUri": HOME,
            "version": __version__,
            "semanticVersion": __version__,
            "rules": [_rule(load_card(code)) for code in self.codes],
        }

    def _result(self, finding: Finding, suppressions: _Suppressions) -> dict[str, Any]:
        found: dict[str, Any] = {
            "ruleId": finding.code,
            "ruleIndex": self.codes.index(finding.code),
            "level": finding.level.value,
            "message": {"text": _text(finding.message)},
            "locations": [self._location(finding.location)],
            "partialFingerprints": self._fingerprints(finding),
            "properties": {"certainty": finding.certainty.value, **_sorted(finding.properties)},
        }
        if finding.related:
            found["relatedLocations"] = [
                {"id": number, **self._location(item.location), "message": {"text": _text(item.message)}}
                for number, item in enumerate(finding.related, 1)
            ]
        if len(finding.related) > 1:
            found["codeFlows"] = [self._flow(finding)]
        if finding.fix is not None and not any(path.endswith(".ipynb") for path in finding.fix.paths):
            found["fixes"] = [self._fix(finding.fix)]
            found["properties"]["fixSafety"] = finding.fix.safety.value
        if finding.help:
            found["properties"]["help"] = whole(finding.help)
        if suppressions:
            found["suppressions"] = suppressions
        if IN_BASELINE in self.result.left_out and not any(s["kind"] == "inSource" for s in suppressions):
            found["baselineState"] = "unchanged" if suppressions else "new"
        return found

    def _location(self, location: Location) -> dict[str, Any]:
        first, last, columns = self.files.lines(location)
        region: dict[str, Any] = {"startLine": first}
        if columns is None:
            region["endLine"] = last
        else:
            (region["startLine"], region["startColumn"]), (region["endLine"], region["endColumn"]) = location.range
        if text := self.files.text(location):
            region["snippet"] = {"text": whole(text)}
        found: dict[str, Any] = {
            "physicalLocation": {"artifactLocation": self._artifact(location.path), "region": region}
        }
        if location.cell is not None:
            found["logicalLocations"] = [{"name": f"cell {location.cell}", "kind": "cell"}]
        return found

    def _artifact(self, rel: str) -> dict[str, str]:
        path = shown_path(self.result.root, rel, self.context.cwd)
        if path.startswith("/"):
            return {"uri": f"file://{uri(path)}"}
        return {"uri": uri(path), "uriBaseId": _BASE}

    def _flow(self, finding: Finding) -> dict[str, Any]:
        """The way from the finding's place through its others, in their order: from an entry to what it draws."""
        start = {**self._location(finding.location), "message": {"text": "starts here"}}
        steps = [start] + [
            {**self._location(item.location), "message": {"text": _text(item.message)}} for item in finding.related
        ]
        return {"threadFlows": [{"locations": [{"location": step} for step in steps]}]}

    def _fix(self, fix: Fix) -> dict[str, Any]:
        changes = [
            {
                "artifactLocation": self._artifact(path),
                "replacements": [_replacement(edit) for edit in fix.edits if edit.path == path],
            }
            for path in dict.fromkeys(edit.path for edit in fix.edits)
        ]
        return {"description": {"text": f"{_text(fix.title)} [{fix.safety.value} fix]"}, "artifactChanges": changes}

    def _fingerprints(self, finding: Finding) -> dict[str, str]:
        found = {"torchreproLint/v1": finding.fingerprint}
        path = finding.location.path
        if path not in self._hashes:
            source = self.files.source(path)
            text = "" if source is None else "\ufeff" * source.bom + source.document
            self._hashes[path] = line_hashes(text) if source is not None else []
        line = self.files.lines(finding.location).first
        if line <= len(self._hashes[path]):
            found["primaryLocationLineHash"] = self._hashes[path][line - 1]
        return found


def _rule(card: Card) -> dict[str, Any]:
    sections = card.sections()
    reason = next((text for text in sections.get("Why it matters", "").split("\n\n") if text), card.summary)
    return {
        "id": card.code,
        "name": "".join(part.capitalize() for part in card.name.split("-")),
        "shortDescription": {"text": card.summary},
        "fullDescription": {"text": _shortened(" ".join(reason.split()))},
        "help": {"text": f"{card.summary}\n\n{card.body.strip()}\n", "markdown": f"{card.body.strip()}\n"},
        "helpUri": rule_url(card.code),
        "defaultConfiguration": {"enabled": card.default, "level": card.level.value},
        "properties": {
            "tags": [*card.tags, "reproducibility"],
            "precision": _PRECISION[card.certainty],
            "problem.severity": _SEVERITY[card.level],
        },
    }


def _replacement(edit: Edit) -> dict[str, Any]:
    start, end = edit.range
    region = {"startLine": start.line, "startColumn": start.column, "endLine": end.line, "endColumn": end.column}
    return {"deletedRegion": region, "insertedContent": {"text": whole(edit.text)}}


def _text(message: str) -> str:
    """A message whose brackets are not read as links."""
    return _LINK.sub(r"\\[", whole(message))


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_DESCRIPTION else text[: _MAX_DESCRIPTION - 3] + "..."


def _sorted(properties: Any) -> dict[str, Any]:
    return dict(sorted(properties.items()))


# -- the hash of a line ------------------------------------------------------------------------------------------------
def line_hashes(text: str) -> list[str]:
    """The hash by which GitHub recognises each line in another version of its file (`primaryLocationLineHash`); a final
    newline starts one more, empty, line.

    As github/codeql-action computes it: over the first hundred characters from the beginning of the line, blanks and
    tabs left out; lines with equal hashes are numbered. Given in a report, it must be the same, or GitHub warns.
    """
    codes, starts = _codes(text.replace("\r\n", "\n").replace("\r", "\n"))
    wanted = set(starts)
    hashes: dict[int, int] = {}
    value = 0
    for at, code in enumerate(codes):  # the window ends with this code
        value = value * _FACTOR + code
        if at >= _LENGTH:
            value -= _FIRST_FACTOR * codes[at - _LENGTH]
        value &= _MASK
        if (first := at - _LENGTH + 1) in wanted:
            hashes[first] = value
    seen: Counter[int] = Counter()
    found: list[str] = []
    for start in starts:
        seen[hashes[start]] += 1
        found.append(f"{hashes[start]:x}:{seen[hashes[start]]}")
    return found


def _codes(text: str) -> tuple[list[int], list[int]]:
    """The UTF-16 units that count, and where in them each line begins."""
    codes: list[int] = []
    starts: list[int] = []
    for line in text.split("\n"):
        starts.append(len(codes))
        kept = line.replace(" ", "").replace("\t", "")[:_LENGTH]  # no window reaches further into a line
        units = kept.encode("utf-16-le", "surrogatepass")
        codes += [units[at] | units[at + 1] << 8 for at in range(0, len(units), 2)]
        codes.append(ord("\n"))
    codes[-1] = _END
    return codes + [0] * _LENGTH, starts
