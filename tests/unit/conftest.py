"""Being here puts this folder on the import path, so that tests below it can share modules."""
