"""Who else is told of a run: trackers, each loaded only when it was asked for."""
