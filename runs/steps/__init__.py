"""The effects of one run: which its step list shows, and where each stands in time."""
