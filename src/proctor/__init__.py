"""Proctor evaluates prompts: offline by default, the same bytes every time."""

__version__ = "0.1.0"
