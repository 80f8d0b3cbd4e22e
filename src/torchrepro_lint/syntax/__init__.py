"""Edits on exact source slices: arguments (through libcst), statements, imports. No analysis."""

from torchrepro_lint.syntax.arguments import is_within_width, kept_within_width, with_argument
from torchrepro_lint.syntax.imports import Import, import_from, import_module, import_name
from torchrepro_lint.syntax.paragraphs import (
    above_heading,
    below_header,
    divides_paragraph,
    is_below_check,
    is_below_heading,
    is_below_import,
    joins_others,
    reads_options,
    stands_apart,
    top_of_paragraph,
)
from torchrepro_lint.syntax.placing import also_imported
from torchrepro_lint.syntax.statements import (
    begins_cell,
    indentation,
    insert_after,
    insert_at,
    insert_before,
    insert_first,
    is_docstring,
    quoted,
    remove,
    replace,
    top_line,
    wrap,
)

__all__ = [
    "Import",
    "above_heading",
    "also_imported",
    "begins_cell",
    "below_header",
    "divides_paragraph",
    "import_from",
    "import_module",
    "import_name",
    "indentation",
    "insert_after",
    "insert_at",
    "insert_before",
    "insert_first",
    "is_below_check",
    "is_below_heading",
    "is_below_import",
    "is_docstring",
    "is_within_width",
    "joins_others",
    "kept_within_width",
    "quoted",
    "reads_options",
    "remove",
    "replace",
    "stands_apart",
    "top_line",
    "top_of_paragraph",
    "with_argument",
    "wrap",
]
