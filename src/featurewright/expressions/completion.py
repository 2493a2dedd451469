"""How many more symbols a half-written program needs before it can end.

The stack of a half-written program holds values of known domains. Every value but the top one is
a finished operand of some operator still to come, because nothing can touch it before that
operator takes it. So a stack is read from the bottom as operands of nested pending operators, each
of them giving the operand the one around it waits for. This gives the exact least number of
symbols to completion without looking ahead, so states from which nothing can be completed are
never visited.
"""

from __future__ import annotations

from collections.abc import Sequence

from featurewright.expressions.domains import Domain, accepts

Stack = tuple[Domain, ...]
Signature = tuple[tuple[Domain, ...], Domain]

IMPOSSIBLE = 1_000_000
"""A number of symbols no program has."""

_ANYTHING = len(Domain)
"""The demand on the final value, after those of the domains: none."""


class Completion:
    """Least numbers of symbols to completion, and the moves between stacks.

    Parameters
    ----------
    pushed : sequence of Domain or None
        Per domain, what pushing a column of it adds to the stack; None without such a column.
    signatures : sequence of (inputs, output)
        What the operators take and give.

    Examples
    --------
    >>> from featurewright.expressions import Real
    >>> completion = Completion([Real, None, None], [((Real, Real), Real)])
    >>> completion.cost((Real, Real, Real))
    2
    """

    def __init__(self, pushed: Sequence[Domain | None], signatures: Sequence[Signature]) -> None:
        """Solve for the costs that do not depend on a stack."""
        self._pushed = list(pushed)
        self._signatures = list(signatures)
        self._widest = max((len(inputs) for inputs, _ in signatures), default=1)
        self._fresh = self._solve_fresh()
        self._convert = self._solve_convert()
        self._rest: dict[Stack, list[int]] = {(): [*[IMPOSSIBLE] * len(Domain), 0]}
        self._moves: dict[Stack, list[tuple[Stack, int]]] = {}

    def cost(self, stack: Stack) -> int:
        """Return the least number of symbols that turn a non-empty stack into one value."""
        rest, convert = self._rest_after(stack[:-1]), self._convert[stack[-1]]
        return min(map(int.__add__, rest, convert))

    def moves(self, stack: Stack) -> list[tuple[Stack, int]]:
        """Return, per domain pushed and per signature applied, the next stack and its cost."""
        if stack not in self._moves:
            following = [None if domain is None else (*stack, domain) for domain in self._pushed]
            following += [self._apply(stack, signature) for signature in self._signatures]
            self._moves[stack] = [
                ((), IMPOSSIBLE) if after is None else (after, self.cost(after))
                for after in following
            ]
        return self._moves[stack]

    @staticmethod
    def _apply(stack: Stack, signature: Signature) -> Stack | None:
        """Return the stack after an operator, None if it does not apply."""
        inputs, output = signature
        below = len(stack) - len(inputs)
        if below < 0 or not _fits(inputs, stack[below:]):
            return None
        return (*stack[:below], output)

    def _solve_fresh(self) -> list[int]:
        """Return per domain the least number of symbols that make an operand for it."""
        given = [domain for domain in self._pushed if domain is not None]
        fresh = [
            1 if any(accepts(asked, domain) for domain in given) else IMPOSSIBLE for asked in Domain
        ]
        changed = True
        while changed:
            changed = False
            for inputs, output in self._signatures:
                made = 1 + sum(fresh[domain] for domain in inputs)
                for asked in Domain:
                    if accepts(asked, output) and made < fresh[asked]:
                        fresh[asked], changed = made, True
        return fresh

    def _solve_convert(self) -> list[list[int]]:
        """Return, per domain given on top and per demand, the symbols to get from one to other.

        The given value is the first operand of the first operator, whose result is the first
        operand of the next, and so on; their other operands are made afresh.
        """
        convert = [
            [*[0 if accepts(asked, given) else IMPOSSIBLE for asked in Domain], 0]
            for given in Domain
        ]
        changed = True
        while changed:
            changed = False
            for inputs, output in self._signatures:
                step = 1 + sum(self._fresh[domain] for domain in inputs[1:])
                for given in filter(lambda given: accepts(inputs[0], given), Domain):
                    for demand, onward in enumerate(convert[output]):
                        if step + onward < convert[given][demand]:
                            convert[given][demand], changed = step + onward, True
        return convert

    def _rest_after(self, stack: Stack) -> list[int]:
        """Return per demand the symbols still to come once the next value meets that demand.

        All the values of the stack are finished operands. The last ones, ``taken`` of them, are
        the first operands of the innermost pending operator, which waits for its next one.
        """
        if stack in self._rest:
            return self._rest[stack]
        rest = [IMPOSSIBLE] * (len(Domain) + 1)
        for taken in range(1, min(len(stack), self._widest - 1) + 1):
            around, operands = self._rest_after(stack[:-taken]), stack[-taken:]
            for inputs, output in self._signatures:
                if len(inputs) > taken and _fits(inputs[:taken], operands):
                    later = 1 + sum(self._fresh[domain] for domain in inputs[taken + 1 :])
                    later += min(map(int.__add__, around, self._convert[output]))
                    asked = inputs[taken]
                    rest[asked] = min(rest[asked], later)
        self._rest[stack] = rest
        return rest


def _fits(inputs: Sequence[Domain], operands: Sequence[Domain]) -> bool:
    """Tell whether operands are of domains the inputs accept."""
    return all(map(accepts, inputs, operands))
