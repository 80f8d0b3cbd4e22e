"""Runs a program twice and says where the two runs part: which step, which value, which line, and what caused it.

`inside` is what runs in the program's own processes: it observes and writes streams of digests to a folder. The other
modules run in the command's process: they start the runs, read the streams, compare them and name causes. They know
findings only as places and codes, and print nothing.
"""
