"""What a program has seeded and drawn at each point of its run: an abstract interpreter over effect summaries, and the
judgements that rest on it."""
