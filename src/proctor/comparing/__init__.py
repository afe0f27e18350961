"""Two reports into what became of each case; what that means for a gate is decided elsewhere."""
