"""Which kernels a program runs, with which switches, and whether their results repeat."""
