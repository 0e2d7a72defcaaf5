"""Designs: tables of points over factors, drawn so that the effects of the factors can be told
apart."""
