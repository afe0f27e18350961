"""Running one row."""
