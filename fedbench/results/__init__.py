"""Records: what a run leaves, how it is stored and how it is recognised."""
