"""How values and control move through a project: what an expression is, what becomes of a value, who calls what, and
under which conditions. Knows nothing of torch, of random numbers, or of what any library does."""
