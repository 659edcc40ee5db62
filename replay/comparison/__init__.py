"""Two answers to one question held against each other, and how that is shown."""
