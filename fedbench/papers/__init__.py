"""What four papers print in their tables, cell by cell: how each number is made again, by which rules it is judged, and the verdicts."""
