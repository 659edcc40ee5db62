"""What people say about effects to each other: comments, and who they mention."""
