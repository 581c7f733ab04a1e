"""Self-test of the judge: servers that each violate one invariant, and one that violates none."""
