"""Boards as tables: LaTeX, Markdown, CSV."""
