"""How models become files: the archive, arrays, values, and what makes a loaded model sound."""
