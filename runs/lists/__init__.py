"""The list of runs: what is asked for, what matches, and pages of it."""
