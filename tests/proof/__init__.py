"""Proof that the fixes work: small training programs whose runs differ, and after `--fix` agree bit for bit."""
