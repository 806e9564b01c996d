"""Readers of data files. Each knows which line or row of its file a record comes from."""
