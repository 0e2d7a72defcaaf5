"""The documents from which a site is made: frozen models, with the sizes and limits of all parts,
and one reader."""
