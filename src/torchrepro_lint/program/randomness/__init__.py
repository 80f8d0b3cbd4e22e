"""Which generators a program draws from, and which seeds reach them."""
