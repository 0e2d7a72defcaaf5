"""Running many specifications: parallel, resumable."""
