"""Making datasets of what other programs have written."""
