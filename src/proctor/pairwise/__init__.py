"""Two subjects compared answer by answer: judges say which of two answers is better."""
