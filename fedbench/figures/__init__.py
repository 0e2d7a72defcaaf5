"""Draws figures and writes tables for papers. Their data are those of `fedbench.analysis.pictures`,
`fedbench.analysis.board_table`, `fedbench.engine.timeline` and `fedbench.engine.label_map`; nothing
else is computed here."""
