"""Submissions by people who mean no good, or made a mistake: what is wrong with each, and the words
that name it."""

from __future__ import annotations

from tests.submissions import hostile_files, hostile_manifests, hostile_records, hostile_rows, hostile_tables
from tests.submissions.kinds import KINDS

MODULES = (hostile_manifests, hostile_files, hostile_tables, hostile_records, hostile_rows)
"""Those that have filled the table."""
__all__ = ["KINDS", "MODULES"]
