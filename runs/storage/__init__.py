"""The recorded bytes: how they are packed, compressed, kept and read back."""
