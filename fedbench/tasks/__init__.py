"""Tasks: data, model and metric, seen through one flat parameter vector."""
