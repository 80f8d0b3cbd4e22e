"""`python -m torchrepro_lint`."""

from torchrepro_lint.cli import main

if __name__ == "__main__":
    main()
