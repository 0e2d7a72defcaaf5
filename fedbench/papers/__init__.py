"""The papers whose algorithms and experiments fedbench repeats: what they print, and where this repository does it."""
