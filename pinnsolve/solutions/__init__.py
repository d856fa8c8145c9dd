"""What a run returns: a function of the coordinates, with its files, plots and errors."""
