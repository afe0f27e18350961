"""What the rows of two reports prove, as pure functions of counts."""
