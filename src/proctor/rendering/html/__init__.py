"""Reports and comparisons as one HTML page, which opens from disk and asks nobody for anything."""
