"""What the tests of conda environments share."""
