"""Where residuals are taken, and what each of them weighs."""
