"""Where data come from, in which order, and through which loaders and samplers."""
