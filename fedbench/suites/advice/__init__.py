"""Which algorithm for which clients: where a scenario lies on a map of costs (`place`), and what
the map says of that place (`advise`)."""
