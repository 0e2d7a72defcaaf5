"""Checks that the package is right: conformance vectors, contracts of algorithms, tasks and
scenarios, claims of theory, and whether the installation is fit to run."""
