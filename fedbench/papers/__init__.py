"""The numbers that four papers print in their tables: how each one is made again, the rules by
which it is judged, and the verdicts. Also where the papers' algorithms and equations are in the
code."""
