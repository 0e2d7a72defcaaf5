"""Scenarios: files that say which data clients have, how fast and how reliable they are."""
