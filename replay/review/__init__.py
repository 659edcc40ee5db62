"""What a team decides of differences: divergences, their clusters, verdicts and baselines."""
