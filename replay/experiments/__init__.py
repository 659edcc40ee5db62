"""Experiments: runs × candidates, how they come out in all, and sets of runs that are kept."""
