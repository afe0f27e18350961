"""The project that `proctor init` writes."""
