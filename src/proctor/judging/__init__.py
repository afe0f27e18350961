"""Judging answers with a rubric: what judges are told, what they say, and whether people agree."""
