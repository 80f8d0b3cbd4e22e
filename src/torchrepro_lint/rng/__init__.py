"""Which generators a program draws from, and which seeds reach them."""

FAMILIES = ("torch", "numpy", "python")  # the global generators that are told apart
