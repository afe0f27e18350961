"""The safety scan: what should not stand in a dataset, found without showing it."""
