"""Input that nobody writes on purpose: mutated and generated programs, configurations, trees, notebooks, and kills."""
