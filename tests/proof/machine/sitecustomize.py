"""Makes this interpreter list folders in another order, as another machine's file system would.

Python imports this module at start when its folder is on PYTHONPATH. The order of a folder is that of its names'
digests under the key in LISTING_ORDER: the same for the whole run, in all its processes, and another for another key.
Python's own imports list folders with functions of their own and notice nothing.
"""

import glob
import hashlib
import os
import pathlib

KEY = os.environ.get("LISTING_ORDER", "").encode()
plain_listdir, plain_scandir = os.listdir, os.scandir


def rank(name):
    return hashlib.blake2b(os.fsencode(name), key=KEY).digest()


class List:
    """os.listdir; no plain function, which would become a method in Python 3.10's pathlib."""

    def __call__(self, path="."):
        return sorted(plain_listdir(path), key=rank)


class Scan:
    """What os.scandir returns: an iterator that can be closed, and used in a `with`."""

    def __init__(self, path="."):
        with plain_scandir(path) as entries:
            self.entries = iter(sorted(entries, key=lambda entry: rank(entry.name)))

    def __iter__(self):
        return self

    def __next__(self):
        return next(self.entries)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.entries = iter(())


if KEY:
    os.listdir, os.scandir = List(), Scan
    if hasattr(pathlib, "_NormalAccessor"):  # until Python 3.10, pathlib keeps the functions of its first import
        pathlib._NormalAccessor.listdir, pathlib._NormalAccessor.scandir = os.listdir, os.scandir
    if hasattr(glob, "_StringGlobber"):  # since Python 3.13, so does what globs for pathlib
        glob._StringGlobber.scandir = staticmethod(os.scandir)
