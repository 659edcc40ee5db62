"""What a project does not count as a difference: rules, tried before they are kept, and counted."""
