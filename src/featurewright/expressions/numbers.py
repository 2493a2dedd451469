"""Numbers in formulas: four decimal digits, packed into the parameter of a symbol.

The code of a number has 23 bits: its digits, its power of ten and its sign.
"""

from __future__ import annotations

import numpy as np

from featurewright.expressions.opcodes import FLOAT_MAX

DIGIT_BITS = 14
"""Bits of a number's code that hold its digits; its power of ten and its sign follow."""

EXPONENT_BITS = 8
LEAST_EXPONENT = -(2 ** (EXPONENT_BITS - 1))
DIGITS = 4
LARGEST = 3.402e38
"""The largest float32, rounded down to `DIGITS` digits."""

POWERS = np.array([float(f"1e{power}") for power in range(1 - LEAST_EXPONENT)])
"""Powers of ten, so that compiled code and Python compute the same numbers."""


def number_code(value: float) -> int:
    """Return the code of a number rounded to four decimal digits, so that its text is exact.

    Parameters
    ----------
    value : float
        A number within float32.

    Returns
    -------
    int
        Digits, power of ten and sign in 23 bits; 0 for 0.

    Examples
    --------
    >>> code_number(number_code(-0.25)), number_text(number_code(12345.6))
    (-0.25, '12350')
    """
    size = abs(float(value))
    if not size <= FLOAT_MAX:
        raise ValueError(
            f"A number in a formula must be finite and within float32, got {value!r}; use another."
        )
    size = min(size, LARGEST)
    digits, power = f"{size:.{DIGITS - 1}e}".split("e")
    whole, exponent = int(digits.replace(".", "")), int(power) - DIGITS + 1
    if whole == 0 or exponent < LEAST_EXPONENT:
        return 0
    while whole % 10 == 0:
        whole, exponent = whole // 10, exponent + 1
    sign = int(value < 0) << (DIGIT_BITS + EXPONENT_BITS)
    return sign | (exponent & (1 << EXPONENT_BITS) - 1) << DIGIT_BITS | whole


def code_number(code: int) -> float:
    """Return the number of a code.

    Parameters
    ----------
    code : int
        A code made by ``number_code``.

    Returns
    -------
    float
        The same number in every form of a formula; float32 values are compared with it as float32.

    Examples
    --------
    >>> code_number(number_code(0.24)) == 0.24
    True
    """
    whole, exponent, sign = number_parts(code)
    size = whole * POWERS[exponent] if exponent >= 0 else whole / POWERS[-exponent]
    return sign * float(size)


def number_text(code: int) -> str:
    """Return the number of a code as decimal text.

    Parameters
    ----------
    code : int
        A code made by ``number_code``.

    Returns
    -------
    str
        At most four digits that are not zeros at the ends.

    Examples
    --------
    >>> [number_text(number_code(value)) for value in (0.5, -3.0, 0.0, 2.5e9)]
    ['0.5', '-3', '0', '2.5e+09']
    """
    whole, exponent, sign = number_parts(code)
    value = sign * float(f"{whole}e{exponent}")
    if value == 0.0 or 1e-4 <= abs(value) < 1e7:
        return np.format_float_positional(value, trim="-")
    return f"{value:.{DIGITS}g}"


def is_number_code(code: int) -> bool:
    """Whether a code is one that ``number_code`` returns.

    Parameters
    ----------
    code : int
        Any parameter of a symbol.

    Returns
    -------
    bool
        False for too many digits, zeros at the end, and numbers beyond float32.

    Examples
    --------
    >>> is_number_code(number_code(0.1)), is_number_code(10)
    (True, False)
    """
    whole, exponent, sign = number_parts(code)
    value = sign * float(f"{whole}e{exponent}")
    return abs(value) <= LARGEST and number_code(value) == code


def number_parts(code: int) -> tuple[int, int, int]:
    """Return the digits, the power of ten and the sign of a number's code.

    Parameters
    ----------
    code : int
        A code made by ``number_code``.

    Returns
    -------
    tuple of int
        The number is sign * digits * 10 ** power.

    Examples
    --------
    >>> number_parts(number_code(-0.25))
    (25, -2, -1)
    """
    whole = code & (1 << DIGIT_BITS) - 1
    exponent = code >> DIGIT_BITS & (1 << EXPONENT_BITS) - 1
    exponent -= (exponent >> (EXPONENT_BITS - 1)) << EXPONENT_BITS
    return whole, exponent, 1 - 2 * (code >> (DIGIT_BITS + EXPONENT_BITS))
