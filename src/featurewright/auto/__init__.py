"""The main job: a table and a target in, better features out."""
