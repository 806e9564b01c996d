"""Measurements side by side; they print ratios."""
