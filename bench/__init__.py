"""Measurements: one command each, figures printed, never part of the tests."""
