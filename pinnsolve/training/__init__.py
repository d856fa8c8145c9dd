"""How a run goes: the loop, what it reports, stops at and keeps, and runs that follow runs."""
