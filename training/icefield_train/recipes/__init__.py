"""Other ways to train than Icefield's own, to compare it with."""
