"""List operators as the engine draws them by weight."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from featurewright.engine.buffers import OperatorWeights
from featurewright.engine.compiled_grammar import user_operators
from featurewright.engine.weighted import make_operator_weights
from featurewright.expressions import Domain, Operator, accepts, operator_opcode
from featurewright.expressions.operators import BuiltInOperator


def tells_nothing_new_exchanged(operator: Operator) -> bool:
    """Whether one order of the operands is enough; x - y and y - x differ in sign alone."""
    return operator.commutative or (
        isinstance(operator, BuiltInOperator) and operator.antisymmetric
    )


def usable_operators(
    operators: Sequence[Operator], domains: npt.NDArray[np.int8], max_order: int = 1
) -> tuple[Operator, ...]:
    """Give the operators that have enough different operands, columns or results of others."""
    available = [Domain(int(domain)) for domain in domains]
    usable: set[Operator] = set()
    for _ in range(max_order):
        # One result for each operator: what an operator can do on top of itself needs no more.
        added = [
            operator.output
            for operator in operators
            if operator not in usable and _has_operands(operator, available)
        ]
        usable |= {operator for operator in operators if _has_operands(operator, available)}
        available += added
    return tuple(operator for operator in operators if operator in usable)


def _has_operands(operator: Operator, available: Sequence[Domain]) -> bool:
    """Tell whether each operand can be chosen, and differ from the one before it."""
    for place, domain in enumerate(operator.inputs):
        choices = sum(accepts(domain, given) for given in available)
        repeated = place > 0 and operator.inputs[place - 1] == domain
        if choices < 1 + repeated:
            return False
    return True


def list_operators(
    operators: Sequence[Operator],
    domains: npt.NDArray[np.int8],
    *,
    weighting: bool,
    max_order: int,
) -> OperatorWeights:
    """Turn operators and the domains of columns into the lists that kernels draw from."""
    users = user_operators(operators)
    widest = max((operator.arity for operator in operators), default=1)
    inputs = np.full((len(operators), widest), -1, np.int64)
    for row, operator in enumerate(operators):
        inputs[row, : operator.arity] = operator.inputs
    return make_operator_weights(
        np.array([operator_opcode(operator, users) for operator in operators], np.int64),
        inputs,
        np.array([operator.output for operator in operators], np.int64),
        np.array([tells_nothing_new_exchanged(operator) for operator in operators], np.int64),
        domains,
        learns=weighting,
        max_order=max_order,
    )
