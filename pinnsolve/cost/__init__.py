"""What a run will take: seconds and memory, before it is started."""
