"""Datasets by themselves, without a suite: opened, written, counted, split."""
