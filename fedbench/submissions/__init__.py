"""Results that others made: how they are handed in, what is checked, and what was found about
them."""
