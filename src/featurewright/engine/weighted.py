"""Search a node with operators drawn by weights that are learned on the path to the node."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from featurewright.engine.buffers import OperatorWeights
from featurewright.engine.compiler import call_kernel, kernel
from featurewright.engine.criteria import NORMALIZED, RATIO, SQUARES, chance_gain
from featurewright.engine.grammar import fingerprint, user_operators
from featurewright.engine.operators import operator_symbol, symbol_opcode, takes_one
from featurewright.engine.programs import program_length
from featurewright.engine.random import draw_below, draw_unit
from featurewright.engine.search import (
    FROM_BUFFER,
    RAW,
    forget_programs,
    seen_before,
    spent,
)
from featurewright.expressions import Domain, Operator, accepts, operator_opcode
from featurewright.expressions.builtin import IS
from featurewright.expressions.opcodes import END, FIRST_USER
from featurewright.expressions.operators import BuiltInOperator

OPERAND_DRAWS = 8  # attempts to draw new operands for one operator
EQUAL_SHARE = 0.1  # of the weights is shared equally, so that every operator comes up again
_SAME_GAINS = 1e-6  # spread of gains, relative to their mean, that is no more than rounding

_CATEGORY = 2  # the last domain


def begin_tree(operator_weights: OperatorWeights, programs: np.ndarray) -> OperatorWeights:
    """Return operator weights for a new tree with the given program array, equal at the root."""
    capacity, n_operators = len(programs), len(operator_weights.opcodes)
    shape = (capacity, n_operators)
    return operator_weights._replace(
        weights=np.full(shape, 1.0 / max(1, n_operators)),
        gains=np.zeros(shape),
        counts=np.zeros(shape, np.int64),
        parents=np.full(capacity, -1, np.int64),
        programs=programs,
        node=np.zeros(1, np.int64),
        excluded=np.zeros(max(1, len(operator_weights.by_domain)), np.uint8),
        ancestors=np.empty(capacity, np.int64),
        ancestor_domains=np.empty(capacity, np.int64),
    )


def make_operator_weights(
    opcodes: np.ndarray,
    inputs: np.ndarray,
    outputs: np.ndarray,
    swaps: np.ndarray,
    domains: np.ndarray,
    *,
    strength: float,
    max_order: int,
    reuses: bool,
) -> OperatorWeights:
    """Return operators and columns as arrays, without the weights of a tree.

    Parameters
    ----------
    opcodes, outputs, swaps : int64[operators]
        As in `OperatorWeights`.
    inputs : int64[operators, operands]
        Domains of the operands, padded with -1.
    domains : int8[columns]
        Domain of each column.
    """
    of_kind = [int((domains == kind).sum()) for kind in range(_CATEGORY + 1)]
    ends = np.cumsum(of_kind)
    # A numeric operand may be Boolean; the other domains accept only themselves.
    return OperatorWeights.empty()._replace(
        opcodes=np.ascontiguousarray(opcodes, np.int64),
        arities=(inputs >= 0).sum(axis=1).astype(np.int64),
        inputs=np.ascontiguousarray(inputs, np.int64),
        outputs=np.ascontiguousarray(outputs, np.int64),
        swaps=np.ascontiguousarray(swaps, np.int64),
        by_domain=np.argsort(domains, kind="stable").astype(np.int64),
        first=np.array([0, ends[0], ends[1]], np.int64),
        last=np.array([ends[1], ends[1], ends[2]], np.int64),
        strength=np.array([strength], np.float64),
        max_order=np.array([max_order], np.int64),
        reuses=np.array([int(reuses)], np.int64),
    )


@kernel(inline=True)
def inherit_weights(operator_weights, node, child):
    """Copy a parent's weights to a new node."""
    operator_weights.parents[child] = node
    for k in range(operator_weights.weights.shape[1]):
        operator_weights.weights[child, k] = operator_weights.weights[node, k]


@kernel
def nesting_depth(programs, k, users, stack):
    """Return the nesting depth of operators in a program."""
    top = 0
    for d in range(programs.shape[1]):
        symbol = np.int64(programs[k, d])
        if symbol == END:
            break
        if symbol >= 0:
            stack[top] = 0
            top += 1
            continue
        opcode = symbol_opcode(symbol)
        arity = np.int64(1) if takes_one(opcode) else np.int64(2)
        if opcode >= FIRST_USER:
            arity = users.arities[opcode - FIRST_USER]
        deepest = np.int64(0)
        for _ in range(arity):
            top -= 1
            deepest = max(deepest, stack[top])
        stack[top] = deepest + 1
        top += 1
    return stack[0]


@kernel
def find_path_features(operator_weights, n_levels, users, stack):
    """Find the features chosen by ancestors; return the number of those that may be operands.

    A raw column chosen before is excluded from being chosen again, unless columns are reused. A
    category never is, because its other levels are different tests.
    """
    for place in range(operator_weights.excluded.shape[0]):
        operator_weights.excluded[place] = 0
    count = np.int64(0)
    node = operator_weights.parents[operator_weights.node[0]]
    while node >= 0:
        length = program_length(operator_weights.programs, node)
        column = np.int64(operator_weights.programs[node, 0])
        if length == 1:
            once = n_levels[column] == 0 and operator_weights.reuses[0] == 0
            operator_weights.excluded[column] = np.uint8(once)
        elif (
            nesting_depth(operator_weights.programs, node, users, stack)
            < operator_weights.max_order[0]
        ):
            opcode = symbol_opcode(np.int64(operator_weights.programs[node, length - 1]))
            for k in range(operator_weights.opcodes.shape[0]):
                if operator_weights.opcodes[k] == opcode:
                    operator_weights.ancestor_domains[count] = operator_weights.outputs[k]
            operator_weights.ancestors[count] = node
            count += 1
        node = operator_weights.parents[node]
    return count


@kernel
def is_on_path(operator_weights, programs, k):
    """Whether a program was chosen by an ancestor of the node."""
    node = operator_weights.parents[operator_weights.node[0]]
    while node >= 0:
        d = 0
        while d < programs.shape[1] and programs[k, d] == operator_weights.programs[node, d]:
            d += 1
        if d == programs.shape[1]:
            return True
        node = operator_weights.parents[node]
    return False


@kernel
def draw_operator(weights, node, state):
    """Draw an operator with probability proportional to its weight."""
    count = weights.shape[1]
    whole = 0.0
    for k in range(count):
        whole += weights[node, k]
    rest = draw_unit(state) * whole
    for k in range(count - 1):
        rest -= weights[node, k]
        if rest < 0.0:
            return np.int64(k)
    return np.int64(count - 1)


@kernel(inline=True)
def is_accepted(kind, domain):
    """Whether a feature of domain `kind` is accepted as an operand of a domain."""
    return kind == domain or (domain == 0 and kind == 1)


@kernel(inline=True)
def count_choices(operator_weights, domain, n_ancestors):
    """Return the number of possible operands of a domain: columns and features of ancestors."""
    choices = operator_weights.last[domain] - operator_weights.first[domain]
    for place in range(n_ancestors):
        choices += np.int64(is_accepted(operator_weights.ancestor_domains[place], domain))
    return choices


@kernel(inline=True)
def take_operand(operator_weights, domain, choice, n_ancestors):
    """Return the operand of a choice: a column, or -1 minus an ancestor node."""
    columns = operator_weights.last[domain] - operator_weights.first[domain]
    if choice < columns:
        return operator_weights.by_domain[operator_weights.first[domain] + choice]
    choice -= columns
    for place in range(n_ancestors):
        if is_accepted(operator_weights.ancestor_domains[place], domain):
            if choice == 0:
                return -1 - operator_weights.ancestors[place]
            choice -= 1
    return np.int64(0)


@kernel(inline=True)
def is_after(x, y):
    """Whether operand x is after y: columns by number, then features from the root on."""
    if (x < 0) != (y < 0):
        return x < 0
    return (y > x) if x < 0 else (x > y)


@kernel(inline=True)
def sort_operands(operands, arity):
    """Sort the first `arity` operands in place, by `is_after`."""
    for a in range(1, arity):
        b = a
        while b > 0 and is_after(operands[b - 1], operands[b]):
            operands[b - 1], operands[b] = operands[b], operands[b - 1]
            b -= 1


@kernel
def write_expression(
    operator_weights, operator, n_ancestors, n_levels, programs, k, operands, state
):
    """Write an operator on random operands as the k-th program; return its length, 0 if impossible.

    Consecutive operands differ. `operands` is a scratch array.
    """
    arity = operator_weights.arities[operator]
    before = np.int64(-1)
    for a in range(arity):
        domain = operator_weights.inputs[operator, a]
        choices = count_choices(operator_weights, domain, n_ancestors)
        repeated = a > 0 and domain == operator_weights.inputs[operator, a - 1]
        if choices - np.int64(repeated) < 1:
            return np.int64(0)
        choice = draw_below(state, choices - np.int64(repeated))
        if repeated and choice >= before:
            choice += 1
        before = choice
        operands[a] = take_operand(operator_weights, domain, choice, n_ancestors)
    if operator_weights.swaps[operator] == 1:
        sort_operands(operands, arity)
    length = np.int64(0)
    for a in range(arity):
        if operands[a] >= 0:
            programs[k, length] = operands[a]
            length += 1
            continue
        node = -1 - operands[a]
        for d in range(program_length(operator_weights.programs, node)):
            programs[k, length] = operator_weights.programs[node, d]
            length += 1
    opcode = operator_weights.opcodes[operator]
    level = np.int64(0)
    if opcode == IS:
        level = draw_below(state, max(np.int64(1), n_levels[operands[0]]))
    programs[k, length] = operator_symbol(opcode, level)
    length += 1
    for d in range(length, programs.shape[1]):
        programs[k, d] = END
    return length


@kernel
def gain_unit(rows, n, n_stats, settings):
    """Return the unit of gains: the weight, or the sum of squares; 1 for ratios."""
    criterion = settings.criterion
    if criterion in (NORMALIZED, RATIO):
        return 1.0
    if criterion != SQUARES:
        return np.float64(rows.totals[n_stats])
    squares = 0.0
    for t in range(n_stats):
        for i in range(n):
            value, weight = rows.weights[t, i], rows.weights[n_stats, i]
            squares += np.float64(value) * np.float64(value) / np.float64(weight)
    return squares


@kernel(inline=True)
def learn_weights(operator_weights, node):
    """Multiply the weight of each operator by exp(strength * standardised mean gain).

    Gains count as far as they are above chance: useless features of different operators have
    different gains, lower ones where few values differ. Mean gains are standardised over the
    operators drawn at the node; one that was not drawn counts as average. The weights are
    normalised, and a small part of them is shared equally.
    """
    weights, gains, counts = (
        operator_weights.weights,
        operator_weights.gains,
        operator_weights.counts,
    )
    n_operators, strength = weights.shape[1], operator_weights.strength[0]
    n_drawn, mean, spread = 0, 0.0, 0.0
    for k in range(n_operators):
        if counts[node, k] > 0:
            gains[node, k] /= counts[node, k]
            mean += gains[node, k]
            n_drawn += 1
    if n_drawn == 0 or strength == 0.0:
        return
    mean /= n_drawn
    highest = mean
    for k in range(n_operators):
        if counts[node, k] > 0:
            spread += (gains[node, k] - mean) ** 2
            highest = max(highest, gains[node, k])
    spread = math.sqrt(spread / n_drawn)
    if spread <= _SAME_GAINS * mean:
        return
    whole = 0.0
    for k in range(n_operators):
        gain = gains[node, k] if counts[node, k] > 0 else mean
        # Relative to the highest, so that no exponential overflows.
        weights[node, k] *= math.exp(strength * (gain - highest) / spread)
        whole += weights[node, k]
    for k in range(n_operators):
        weights[node, k] *= (1.0 - EQUAL_SHARE) / whole
        weights[node, k] += EQUAL_SHARE / n_operators


@kernel
def search_weighted(context, n, n_stats):
    """Score raw columns, then expressions of one operator on random operands, and learn weights.

    Raw columns come first, because the first of two equal candidates is kept. Other kernels call
    this one by address; the rows' columns are in the buffer.
    """
    rows, settings, state, users = context.rows, context.settings, context.state, context.users
    candidates, candidate_scores, evaluation, operator_weights = (
        context.buffers.candidates,
        context.buffers.candidate_scores,
        context.buffers.evaluation,
        context.buffers.operator_weights,
    )
    programs, budget, n_levels = candidates.programs, settings.budget, context.grammar.n_levels
    zero, node = np.int64(0), operator_weights.node[0]
    n_ancestors = find_path_features(operator_weights, n_levels, users, evaluation.stack)
    for d in range(programs.shape[1]):
        programs[0, d] = END
    for column in range(n_levels.shape[0]):
        if operator_weights.excluded[column] != 0 or state.best_perfect != 0:
            continue
        programs[0, 0] = column
        call_kernel(settings.scorer, (context, programs, zero, zero, FROM_BUFFER | RAW, n, n_stats))
    state.scored = 0
    if operator_weights.weights.shape[1] == 0:
        return
    forget_programs(candidates.seen, state)
    unit = gain_unit(rows, n, n_stats, settings)
    chance = chance_gain(n, settings.criterion)
    while not spent(budget, state):
        operator = draw_operator(operator_weights.weights, node, state)
        for _ in range(OPERAND_DRAWS):
            state.tries += 1
            k = state.scored
            length = write_expression(
                operator_weights,
                operator,
                n_ancestors,
                n_levels,
                programs,
                k,
                evaluation.stack,
                state,
            )
            if length == 0:
                break
            if operator_weights.reuses[0] == 0 and is_on_path(operator_weights, programs, k):
                continue
            if seen_before(candidates.seen, fingerprint(programs, k, length), state):
                continue
            call_kernel(settings.scorer, (context, programs, k, k, FROM_BUFFER, n, n_stats))
            operator_weights.counts[node, operator] += 1
            if unit > 0.0:
                gain = np.float64(candidate_scores.scores[k]) / unit
                operator_weights.gains[node, operator] += max(0.0, gain - chance)
            break
    learn_weights(operator_weights, node)


def is_symmetric_up_to_sign(operator: Operator) -> bool:
    """Whether exchanging the operands changes at most the sign, so that one order is enough.

    Operands of different domains cannot be exchanged.
    """
    changes_sign = isinstance(operator, BuiltInOperator) and operator.antisymmetric
    return len(set(operator.inputs)) == 1 and (operator.commutative or changes_sign)


def usable_operators(
    operators: Sequence[Operator], domains: npt.NDArray[np.int8], max_order: int = 1
) -> tuple[Operator, ...]:
    """Return the operators with enough distinct operands: columns or results of operators."""
    available = [Domain(int(domain)) for domain in domains]
    usable: set[Operator] = set()
    for _ in range(max_order):
        # One result per operator is enough to decide what can be applied to it.
        added = [
            operator.output
            for operator in operators
            if operator not in usable and _has_operands(operator, available)
        ]
        usable |= {operator for operator in operators if _has_operands(operator, available)}
        available += added
    return tuple(operator for operator in operators if operator in usable)


def _has_operands(operator: Operator, available: Sequence[Domain]) -> bool:
    """Whether each operand has a choice that differs from the previous operand."""
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
    strength: float,
    max_order: int,
    reuses: bool,
) -> OperatorWeights:
    """Return the arrays that kernels draw operators and operands from."""
    users = user_operators(operators)
    widest = max((operator.arity for operator in operators), default=1)
    inputs = np.full((len(operators), widest), -1, np.int64)
    for row, operator in enumerate(operators):
        inputs[row, : operator.arity] = operator.inputs
    return make_operator_weights(
        np.array([operator_opcode(operator, users) for operator in operators], np.int64),
        inputs,
        np.array([operator.output for operator in operators], np.int64),
        np.array([is_symmetric_up_to_sign(operator) for operator in operators], np.int64),
        domains,
        strength=strength,
        max_order=max_order,
        reuses=reuses,
    )
