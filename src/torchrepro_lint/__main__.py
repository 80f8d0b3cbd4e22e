"""`python -m torchrepro_lint`."""

from torchrepro_lint.cli import main

main()
