"""Many runs: side by side, resumable, and as suites, which are designed experiments."""
