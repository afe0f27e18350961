"""Comparing prompt candidates inside the caller's process: no provider, no files, no network."""
