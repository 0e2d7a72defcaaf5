"""Records: what a run leaves behind, how it is stored, and how it is checked when it is read."""
