"""Proof: conformance vectors, identities, theory checks."""
