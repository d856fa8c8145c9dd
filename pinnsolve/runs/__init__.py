"""What starts runs: one, along a coefficient, and many at the same time."""
