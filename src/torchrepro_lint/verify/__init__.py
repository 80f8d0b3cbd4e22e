"""Executes what was flagged: builds inputs for an operation, repeats it, and compares bytes.

The only package that imports torch, and only when something is executed. It runs operations of the catalogue,
never the user's code, and knows nothing of checks, of how findings are printed, or of how a run was asked for.
"""
