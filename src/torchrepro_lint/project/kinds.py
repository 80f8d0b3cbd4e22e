"""The kinds of questions that are noted of a project; those of its text, its folders and what else lies in them stand
where they are answered: `text`, `folders`, `disk`."""

from __future__ import annotations

# What a file's code says, comments and layout left out; its text; and what importing it runs, and puts on the search
# path.
CODE, TEXT, OUTLINE, SEARCH_PATH = "code", "text", "outline", "search path"
MATCHES = "matches"  # a regular expression, anywhere in its text
IMPORTS = "imports"  # its import statements
NATIVE = "native"  # all C++ and CUDA sources, as one answer
LISTED = "listed"  # which files a path with unknown parts may be
# A bound was hit, and a name decided something: nothing can change either. And how each is told.
CUT, NAMED = "cut", "named"
COUNTED = {CUT: "{}", NAMED: "decided by a name alone, {}"}
# A value took too many steps. How many are met depends on what an earlier run knew: that is for tests, and not told.
UNTOLD = "values not followed to their origin"
SAYS = "says"  # what its code says in answer to a question of `contents`
OF_A_FILE = (CODE, TEXT, OUTLINE, SEARCH_PATH, MATCHES, SAYS)  # of which the file is read for more than words
