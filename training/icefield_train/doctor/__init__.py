"""The data doctor: says what is odd about a user's data, and where."""
