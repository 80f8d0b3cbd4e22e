"""Find, fix and prove nondeterminism in PyTorch training code."""

__version__ = "0.1.0"
ISSUES = "https://github.com/torchrepro/torchrepro-lint/issues"  # where a mistake in it is reported
