"""Figures and tables for papers. A figure is drawn from the data of `fedbench.analysis.pictures`
and its like, and from nothing else."""
