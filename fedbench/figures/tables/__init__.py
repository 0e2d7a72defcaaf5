"""Writes boards as tables in LaTeX, Markdown and CSV."""
