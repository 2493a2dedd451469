"""What the estimators of all methods share: parameters, reading tables, growing, transforming."""
