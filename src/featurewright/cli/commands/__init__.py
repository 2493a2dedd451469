"""The commands; what they work with is imported when they run."""
