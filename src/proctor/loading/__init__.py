"""From the files of a project to suites, prompts and datasets."""
