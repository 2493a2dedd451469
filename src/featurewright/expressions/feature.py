"""A constructed feature: a named expression with its gain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from featurewright.expressions.nodes import Column, Expression
from featurewright.expressions.sql_form import sql_of


@dataclass(frozen=True, repr=False)
class Feature:
    r"""A column computed by an expression, and its gain in the model that found it.

    Parameters
    ----------
    name : str
        Text of the expression; for a lone column, its own name.
    expression : Expression
        How to compute it.
    gain : float
        Its gain, as measured by the model that found it, such as a share of the gain of all splits.
    count : int
        Number of nodes that use it.

    Examples
    --------
    >>> from featurewright.expressions import Feature, parse
    >>> feature = Feature.of(parse("a / b", ["a", "b"]), gain=0.25, count=3)
    >>> feature
    Feature('a / b', gain=0.25, count=3)
    >>> print(feature.latex())
    \frac{a}{b}
    >>> print(Feature.of(parse("sqrt(a)", ["a"])).sql())
    SQRT(ABS(CAST("a" AS DOUBLE)))
    """

    name: str
    expression: Expression
    gain: float = 0.0
    count: int = 1

    @classmethod
    def of(cls, expression: Expression, gain: float = 0.0, count: int = 1) -> Feature:
        """Name an expression.

        Parameters
        ----------
        expression : Expression
            How to compute the feature.
        gain : float, default=0.0
            Its gain.
        count : int, default=1
            Number of nodes that use it.

        Returns
        -------
        Feature
            The feature, named by its text; a lone column keeps its name as it is.
        """
        name = expression.name if isinstance(expression, Column) else str(expression)
        return cls(name, expression, gain, count)

    def latex(self) -> str:
        """Return the expression as LaTeX, without dollar signs."""
        return self.expression.latex()

    def mathml(self) -> str:
        """Return the expression as MathML, which browsers draw; names are escaped."""
        return self.expression.mathml()

    def words(self) -> str:
        """Return the expression in plain words, such as "price divided by area"."""
        return self.expression.words()

    def sympy(self) -> Any:
        """Return the expression as a SymPy object."""
        return self.expression.sympy()

    def sql(self, dialect: str = "duckdb") -> str:
        """Return the expression as SQL over the columns of a table.

        NULL stands for what is undefined. The columns must hold finite numbers or NULL, and a
        label that the fit did not see counts as another label. `featurewright.export.to_sql`
        reads columns as the model does, makes parts of dates, and fills in constants.

        Parameters
        ----------
        dialect : str, default="duckdb"
            Whose SQL: a dialect of `to_sql`, such as "postgres".

        Returns
        -------
        str
            A scalar expression, to be put into a SELECT.
        """
        return sql_of(self.expression, dialect)

    def __repr__(self) -> str:
        """Show the name, the gain and the count."""
        return f"Feature({self.name!r}, gain={self.gain:.4g}, count={self.count})"

    def _repr_latex_(self) -> str:
        """Show the formula where there is LaTeX and no HTML."""
        return f"${self.latex()}$"

    def _repr_html_(self) -> str:
        """Show the formula and its gain in a notebook."""
        return f"<span>{self.mathml()} &nbsp; <small>gain {self.gain:.3g}</small></span>"
