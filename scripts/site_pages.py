"""What `mkdocs build` takes from elsewhere, as a hook of it: the home page and the settings from README.md, a page for
each card, and the operations with their evidence from the catalogue. Nothing of it is kept in docs/."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from torchrepro_lint import cards  # noqa: E402
from torchrepro_lint.cli.ops import DEVICES  # noqa: E402
from torchrepro_lint.evidence import Evidence  # noqa: E402
from torchrepro_lint.kernels.operations import Operation, every  # noqa: E402
from torchrepro_lint.project.versions import effective  # noqa: E402
from torchrepro_lint.report.links import HOME  # noqa: E402
from torchrepro_lint.report.operation_page import render_page  # noqa: E402

_LINK = re.compile(r"(?P<fence>`{3,}).*?(?P=fence)|`[^`\n]*`|(\]\()([^)#:\s]+)((?:#[^)\s]*)?\))", re.DOTALL)
_CARD = re.compile(r"rules/TRP\d-[a-z0-9-]+/(TRP\d{3})-[a-z0-9-]+\.md$")
_EXAMPLE = re.compile(r"^(`{3,})(\w+) (bad|fixed|good)\b.*$", re.MULTILINE)
_KINDS = {"bad": "Reported", "fixed": "After the fix", "good": "Not reported"}
_FIXES = {"safe": "safe fix", "unsafe": "unsafe fix", "none": "no fix"}
_OF_README = ("index.md", "configuration.md", "rules/index.md")
_SETTINGS = "Configure it"


def on_config(config: Any) -> Any:
    """Every rule has its place in the navigation."""
    rules = next(entry["Rules"] for entry in config["nav"] if "Rules" in entry)
    rules += [f"rules/{code}.md" for code in cards.codes()]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are written elsewhere; leave out the decisions, to which pages link on GitHub."""
    for file in [f for f in files if f.src_uri.startswith("decisions/")]:
        files.remove(file)
    for name, text in pages():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:  # noqa: ARG001
    """Links to files that are no pages lead to GitHub, those to cards to their pages."""
    here = _home(page.file.src_uri)
    depth = page.file.src_uri.count("/")

    def led(found: re.Match[str]) -> str:
        return found[2] + _target(found[3], here, files, depth) + found[4] if found[2] else found[0]

    return _LINK.sub(led, markdown)


def _home(name: str) -> PurePosixPath:
    """The folder from which the links of a page count: that of the file it was taken from."""
    if name in _OF_README:
        return PurePosixPath()
    if name.startswith("rules/"):
        return PurePosixPath("rules", cards.page(PurePosixPath(name).stem)).parent
    return PurePosixPath("docs", name).parent


def _target(link: str, here: PurePosixPath, files: Files, depth: int) -> str:
    """Where a link of a file of the repository leads in the site."""
    parts: list[str] = []
    for part in (here / link).parts:
        parts = parts[:-1] if part == ".." else [*parts, part]
    path = "/".join(parts)
    if card := _CARD.search(path):
        return "../" * depth + f"rules/{card[1]}.md"
    page = path.removeprefix("docs/")
    if page != path and files.get_file_from_path(page) is not None:
        return "../" * depth + page
    if not (ROOT / path).exists():
        raise SystemExit(f"{here}: a link leads nowhere: {link}")
    return f"{HOME}/blob/main/{path}"


def pages() -> Iterator[tuple[str, str]]:
    """Each page that is made, with its name."""
    head, sections = _readme()
    kept = (f"## {title}\n{text}" for title, text in sections.items() if title not in (_SETTINGS, "Rules"))
    yield "index.md", head + "\n".join(kept)
    yield "configuration.md", "# Configuration\n" + sections[_SETTINGS]
    yield "rules/index.md", "# Rules\n" + sections["Rules"]
    for code in cards.codes():
        yield f"rules/{code}.md", rule(code)
    yield "operations-in-full.md", operations()


def _readme() -> tuple[str, dict[str, str]]:
    head, *rest = re.split(r"^## (.*)\n", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    return head, dict(zip(rest[::2], rest[1::2], strict=True))


def rule(code: str) -> str:
    """The page of a rule: its card, with the examples named."""
    card = cards.load_card(code)
    facts = [f"{card.level.value} ({card.certainty.value})", _FIXES[card.fix], f"since {card.since}"]
    facts += [] if card.default else ["off unless selected"]
    body = _EXAMPLE.sub(lambda found: f"*{_KINDS[found[3]]}:*\n\n{found[1]}{found[2]}", card.body)
    links = [f"- <{url}>" for url in card.references if url not in body]
    known = "\n".join(links)
    body += ("\n" if "## References" in body else "\n## References\n\n") + known if links else ""
    return f"# {card.code} {card.name}\n\n{card.summary}\n\n{', '.join(facts)}\n{body}\n"


def operations() -> str:
    """Every operation, as `torchrepro-lint ops NAME` shows it."""
    evidence = Evidence(())
    release = effective(None).release[:2]
    parts = [
        "# Operations in full\n\nEverything that the catalogue says of each operation, with what was measured, as",
        "`torchrepro-lint ops NAME` shows it.\n",
    ]
    for operation in sorted(every(), key=lambda found: found.id):
        parts += [f"## {operation.id}\n", f"```text\n{_operation(operation, evidence, release)}```\n"]
    return "\n".join(parts)


def _operation(operation: Operation, evidence: Evidence, release: tuple[int, ...]) -> str:
    measured = [item for item in evidence.of(operation.id) if item.device in DEVICES]
    return render_page(operation, DEVICES, release, measured, color=False, width=100)
