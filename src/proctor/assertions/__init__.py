"""The kinds of assertion, and what they share."""
