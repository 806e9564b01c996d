"""Fine-tuning of text classifiers on several CPU nodes."""

__version__ = "0.1.0"
