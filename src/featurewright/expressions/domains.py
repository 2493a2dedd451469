"""The three kinds of values an expression works on."""

from __future__ import annotations

from enum import IntEnum


class Domain(IntEnum):
    """Kind of the values of a column or of an operator's result.

    All values live in float matrices: a Boolean is 0.0 or 1.0, a Category is its integer level
    code, and missing is NaN everywhere.

    Examples
    --------
    >>> Domain(1)
    <Domain.BOOLEAN: 1>
    """

    REAL = 0
    BOOLEAN = 1
    CATEGORY = 2


Real = Domain.REAL
Boolean = Domain.BOOLEAN
Category = Domain.CATEGORY


def accepts(required: Domain, given: Domain) -> bool:
    """Whether a value of one domain may be used where another is required.

    Parameters
    ----------
    required : Domain
        Domain of the operator's input.
    given : Domain
        Domain of the operand.

    Returns
    -------
    bool
        True for equal domains, and for a Boolean where a Real is required: it is 0 or 1 and may
        be used as a number.

    Examples
    --------
    >>> accepts(Real, Boolean), accepts(Boolean, Real)
    (True, False)
    """
    return required == given or (required == Domain.REAL and given == Domain.BOOLEAN)
