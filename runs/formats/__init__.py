"""From the bytes a client sent to records and facts. Nothing in here knows a database."""
