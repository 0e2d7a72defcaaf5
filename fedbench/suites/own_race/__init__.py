"""Races on one scenario, of which a user wants to know which algorithm is the best there."""
