x = 1  # noqa: TRP201
