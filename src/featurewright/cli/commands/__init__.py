"""The commands, one file for those that belong together."""
