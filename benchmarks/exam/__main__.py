"""Let this linter and its peers sit an exam: labelled public repositories of training programs.

The checkouts lie in one folder, as OWNER__NAME, each at the commit of its labels; `--clone` lays out what is absent
there with git. A tool that is not installed is skipped, and said to be; the variable EXAM_<TOOL>, as in
EXAM_DSLINTER=~/ds/bin/pylint, names a program in another environment. Nothing of the repositories is run. Exits 1
where a repository is absent or at another commit, 2 where there is none. Standard library only, and git.

    python benchmarks/exam ~/exam --clone
    python benchmarks/exam ~/exam --set third --tool torchrepro-lint --show
    python benchmarks/exam ~/exam --markdown > table.md
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scoring import CATEGORIES, Count, Repository, Score, read_labels, score
from tools import TOOLS, Tool

LABELS = Path(__file__).parent / "labels"


@dataclass
class Result:
    """How a tool did, and in how many seconds."""

    tool: str
    score: Score = field(default_factory=Score)
    seconds: float = 0.0


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout.strip()


def clone(repository: Repository, folder: Path) -> None:
    """A checkout of one commit, without the history."""
    git("init", "--quiet", str(folder))
    url = f"https://github.com/{repository.name}"
    git("-C", str(folder), "fetch", "--quiet", "--depth=1", "--filter=blob:limit=2m", url, repository.commit)
    git("-C", str(folder), "checkout", "--quiet", "FETCH_HEAD")


def present(repositories: Iterable[Repository], folder: Path, with_git: bool) -> list[Repository]:
    """Those whose checkouts are there, at their commits; what is wrong with the others is told."""
    found = []
    for repository in repositories:
        checkout = folder / repository.folder
        if with_git and not checkout.exists():
            clone(repository, checkout)
        if not checkout.is_dir():
            print(f"SKIPPED {repository.name}: absent", file=sys.stderr)
        elif (checkout / ".git").exists() and git("-C", str(checkout), "rev-parse", "HEAD") != repository.commit:
            print(f"SKIPPED {repository.name}: not at {repository.commit[:7]}", file=sys.stderr)
        else:
            found.append(repository)
    return found


def sit(tool: Tool, path: str, repositories: Sequence[Repository], folder: Path) -> Result:
    """One tool's exam."""
    result = Result(f"{tool.name} {tool.told_version(path)}")
    for repository in repositories:
        began = time.perf_counter()
        reports = tool.reports(path, (folder / repository.folder).resolve())
        result.seconds += time.perf_counter() - began
        score(repository, reports, result.score)
    return result


def percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} % ({part}/{whole})" if whole else "-"


def table(results: Sequence[Result]) -> list[list[str]]:
    """A line for each tool."""
    rows = [["tool", "recall", "precision", "categories", "seconds"]]
    for result in results:
        total, counts = result.score.total, result.score.counts.values()
        categories = str(sum(1 for count in counts if count.found))
        recall, precision = percent(total.found, total.labels), percent(total.right, total.judged)
        rows.append([result.tool, recall, precision, categories, f"{result.seconds:.0f}"])
    return rows


def table_by_category(results: Sequence[Result]) -> list[list[str]]:
    """A line for each category: of its labels, how many each tool found, and of its reports, how many are right."""
    rows = [["category", "labels", *(result.tool for result in results)]]
    for category in CATEGORIES:
        counts = [result.score.counts.get(category, Count()) for result in results]
        labels = max((count.labels for count in counts), default=0)
        if labels or any(count.judged for count in counts):
            rows.append([category, str(labels), *(cell(count) for count in counts)])
    return rows


def cell(count: Count) -> str:
    return f"{count.found} found, {count.right}/{count.judged} right" if count.found or count.judged else ""


def lines(rows: Sequence[Sequence[str]], markdown: bool) -> list[str]:
    """A table as text, or as Markdown."""
    if markdown:
        head, *body = ("| " + " | ".join(row) + " |" for row in rows)
        return [head, "|" + " --- |" * len(rows[0]), *body]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sets = sorted(path.stem for path in LABELS.glob("*.json"))
    parser.add_argument("folder", type=Path, help="where the checkouts lie")
    parser.add_argument("--clone", action="store_true", help="lay out what is absent there, with git")
    parser.add_argument("--set", action="append", choices=sets, help="only this set of labels")
    parser.add_argument("--tool", action="append", choices=[tool.name for tool in TOOLS], help="only this tool")
    parser.add_argument("--show", action="store_true", help="say what each tool missed and falsely reported")
    parser.add_argument("--markdown", action="store_true", help="write the tables as Markdown")
    options = parser.parse_args(arguments)
    options.set = options.set or sets
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    options = parsed(arguments)
    wanted = [repository for name in options.set for repository in read_labels(LABELS / f"{name}.json")]
    repositories = present(wanted, options.folder, options.clone)
    if not repositories:
        return 2
    results = []
    for tool in TOOLS:
        if options.tool and tool.name not in options.tool:
            continue
        path = tool.path()
        if path is None:
            print(f"SKIPPED {tool.name}: `{tool.program}` is not installed", file=sys.stderr)
            continue
        results.append(sit(tool, path, repositories, options.folder))
        if options.show:
            print(*(f"MISSED {text}" for text in results[-1].score.missed), sep="\n")
            print(*(f"FALSE ALARM {text}" for text in results[-1].score.false), sep="\n")
    for rows in (table(results), table_by_category(results)):
        print(*lines(rows, options.markdown), "", sep="\n")
    return int(len(repositories) < len(wanted))


if __name__ == "__main__":
    sys.exit(main())
