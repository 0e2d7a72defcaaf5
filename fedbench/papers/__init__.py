"""What four papers print in their tables, cell by cell: how each number is made again, by which
rules it is judged, the verdicts; and where the papers' algorithms and equations are in the code."""
