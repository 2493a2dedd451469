"""The common parts of all estimators: parameters, reading tables, growing, transforming."""
