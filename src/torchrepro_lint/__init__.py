"""Find, fix and prove nondeterminism in PyTorch training code."""

__version__ = "0.1.0"
