"""Where rows run."""
