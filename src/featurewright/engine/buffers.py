"""Every struct that kernels work with: records of scalars, and named tuples of arrays.

A struct is allocated once per growing tree and handed from tree to tree. Kernels pass them on as
one address (`compiler.references`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

THRESHOLDS = 8  # enough to compare the candidates of a forest by
EXACT_ROWS = 32  # up to here every distinct value is its own bin
MAX_BINS = 128  # the code after the last bin means missing, so codes fit a byte
SAMPLE_ROWS = 32  # values looked at to find where the mass lies
MANY_STATISTICS = 4  # numbers per row from which sparse columns pay
CHUNK_ROWS = 1024  # rows evaluated at a time: operands of one operator stay in the L1 cache
LANES = 32  # loops run over whole groups of rows; the last row fills up the last group
MAX_USER_ARITY = 4
N_SHAPES = 256  # heaps that the programs of a pool are sorted into by their operators
FORM_SIZE = 6  # numbers that describe a simple expression: see `fast_path.note_form`
POOL_BUDGETS = 16  # random programs drawn for a tree, in multiples of a node's budget
GATHERED_ROWS = 2048  # rows whose columns are gathered together

NO_SEARCH = 0
RANDOM_SEARCH = 1
STEP = 2
LOOK_AHEAD = 3
WEIGHTED = 4  # one operator at a time, drawn by learned weights

SETTINGS = np.dtype(
    [
        # scoring
        ("by_class", np.int64),  # 1: statistics are classes, rows are sorted by class
        ("whole_weights", np.int64),  # 1: all weights are whole numbers
        ("criterion", np.int64),
        ("random_threshold", np.int64),  # 1: one uniform threshold, 0: the best one
        ("many_thresholds", np.int64),  # 1: compare candidates by more than a few thresholds
        ("min_rows", np.int64),  # rows on each side of a split
        ("min_weight", np.float32),  # weight on each side of a split
        ("l2", np.float32),
        ("centered", np.int64),  # 1: target sums are taken about the node's mean
        # search
        ("strategy", np.int64),
        ("budget", np.int64),  # score calls per node; 0: no expressions
        ("n_raw", np.int64),  # raw columns tried besides
        ("sample", np.int64),  # rows of the first round of halving; 0: no halving
        ("keep", np.int64),  # one in this many candidates goes on, to this many times the rows
        # growth
        ("max_depth", np.int64),
        ("max_leaves", np.int64),  # 0: depth first without a limit; else best first
        ("min_split", np.int64),  # rows a node needs to be split
        ("min_gain", np.float32),
        ("strict", np.int64),  # 1: a split must gain something
        ("missing_both", np.int64),  # 1: rows missing the tested value go to both sides
        ("spare_rows", np.int64),  # row ids free behind the tree's, for rows that go both ways
        # addresses of kernels
        ("scorer", np.int64),
        ("runner", np.int64),
        ("searcher", np.int64),  # of expressions; 0 where there is no search
        ("filler", np.int64),  # of the program pool; 0 where there is none
    ],
    align=True,
)

STATE = np.dtype(
    [
        ("random", np.uint64),  # the tree's stream of random numbers
        ("grammar_state", np.int64),  # of the automaton after the symbol just drawn
        ("node", np.int64),  # counts the nodes searched
        ("scored", np.int64),  # score calls at this node
        ("tries", np.int64),  # candidates drawn at this node
        ("remembered", np.int64),  # programs in the hash table
        # the candidate just scored
        ("boundary", np.int64),
        ("many", np.int64),  # it is to be compared by more than a few thresholds
        ("few", np.int64),  # it was compared by a few thresholds
        ("missing", np.int64),  # some of its values are missing
        ("perfect", np.int64),  # it separates the last two classes: nothing scores higher
        ("low", np.float32),
        ("high", np.float32),
        ("threshold", np.float32),
        ("center", np.float32),  # where most of its values are, if it has long tails
        ("width", np.float32),
        # the node's best candidate
        ("best_score", np.float32),
        ("best_threshold", np.float32),
        ("best_is_level", np.int64),
        ("best_perfect", np.int64),
        ("best_few", np.int64),
    ],
    align=True,
)

ROWS_SUMMARY = np.dtype(
    [
        # what a split of these rows needs: less where they are a sample of the node
        ("min_rows", np.int64),
        ("min_weight", np.float32),
        # classes
        ("class_bits", np.int64),  # of a packed weight for each class; 0: weights are not packed
        ("narrow", np.int64),  # 1: packed weights fit 32 bits
        ("sum_packed", np.uint64),  # all packed weights added up
        ("class_entropy", np.float32),  # times the weight, where weights are packed
        ("weight_entropy", np.float32),  # x log2 x of the weight, where weights are packed
        # one number
        ("squared_deviations", np.float32),
        ("sums_packed", np.int64),  # 1: number, weight and count share one integer
        ("number_unit", np.float32),  # what packed numbers and weights were multiplied with
        ("weight_unit", np.float32),
    ],
    align=True,
)


def make_record(dtype: np.dtype, **values: Any) -> Any:
    """Return a record of zeros with some fields set."""
    # A record, unlike a void, has its fields as attributes where kernels run as Python.
    record = np.zeros(1, np.dtype((np.record, dtype)))[0]
    for name, value in values.items():
        record[name] = value
    return record


class Target(NamedTuple):
    """What the tree is to predict."""

    codes: np.ndarray  # int32[n]: class of each row; empty without classes
    sums: np.ndarray  # float32[targets, n]: weighted target columns; no rows with classes
    weights: np.ndarray  # float32[n]


class Grammar(NamedTuple):
    """The automaton as lists of choices: one per valid symbol of each state, END included.

    A choice is drawn uniformly, so a symbol that is to come up more often is listed more often;
    each symbol is listed once before any is repeated.
    """

    start: np.ndarray  # int64[states + 1]: where a state's choices begin
    n_distinct: np.ndarray  # int64[states]: number of different ones
    symbol: np.ndarray  # int32[choices]
    following: np.ndarray  # int32[choices]: the state after the symbol
    n_levels: np.ndarray  # int64[columns]: levels of a Category column, 0 for the others


class UserFunctions(NamedTuple):
    """The compiled user operators of one fit, by slot."""

    addresses: np.ndarray  # int64: of the functions for the float width in use
    arities: np.ndarray  # int64


class GrownTree(NamedTuple):
    """A tree while it grows: one entry per node; children stand side by side."""

    left: np.ndarray  # int32: index of the left child, -1 at a leaf; the right one follows it
    programs: np.ndarray  # int32[nodes, max_size]
    threshold: np.ndarray  # float32
    is_level: np.ndarray  # uint8: the test is "equal to the threshold", not "at most"
    missing_left: np.ndarray  # uint8
    gain: np.ndarray  # float32: of the split, in units of weight
    start: np.ndarray  # int64: the node's rows are row_ids[start : start + size]
    size: np.ndarray  # int64
    spare_rows: np.ndarray  # int64: free places behind them, for rows that go to both children
    depth: np.ndarray  # int32
    rank: np.ndarray  # float32: score by which best-first growth chooses

    @classmethod
    def allocate(cls, capacity: int, width: int) -> GrownTree:
        """Allocate a tree of at most `capacity` nodes with programs of `width` symbols."""
        return cls(
            left=np.empty(capacity, np.int32),
            programs=np.empty((capacity, width), np.int32),
            threshold=np.empty(capacity, np.float32),
            is_level=np.empty(capacity, np.uint8),
            missing_left=np.empty(capacity, np.uint8),
            gain=np.empty(capacity, np.float32),
            start=np.empty(capacity, np.int64),
            size=np.empty(capacity, np.int64),
            spare_rows=np.empty(capacity, np.int64),
            depth=np.empty(capacity, np.int32),
            rank=np.empty(capacity, np.float32),
        )


class Rows(NamedTuple):
    """The rows of a node, or of a sample of it, ready for scoring.

    With classes, rows are sorted by class and statistic p is the weight between segments[p] and
    segments[p + 1]; only classes present have one. Otherwise statistic p is row p of `weights`,
    weighted target values, and the row after the last statistic is the weight itself.
    """

    weights: np.ndarray  # float32[statistics, rows]: those of numbers are followed by zeros
    segments: np.ndarray  # int64[statistics + 1]
    packed: np.ndarray  # int64[rows]: weights, each class in bits of its own; or one number
    narrow: np.ndarray  # uint32[rows]: the same in 32 bits
    summary: Any  # a ROWS_SUMMARY record
    totals: np.ndarray  # float32[statistics + 1]: of each statistic, then of the weight
    tried: np.ndarray  # float32[2 * THRESHOLDS]: thresholds of a candidate, NaN where none is
    lefts: np.ndarray  # int64[2 * THRESHOLDS]: the packed weights left of them

    @classmethod
    def allocate(cls, n_rows: int, n_stats: int, *, by_class: bool) -> Rows:
        """Allocate arrays for at most `n_rows` rows."""
        return cls(
            weights=np.empty((1 if by_class else n_stats + 1, n_rows + LANES), np.float32),
            segments=np.empty(n_stats + 2, np.int64),
            packed=np.empty(n_rows + LANES, np.int64),
            narrow=np.empty(n_rows + LANES, np.uint32),
            summary=make_record(ROWS_SUMMARY),
            totals=np.empty(n_stats + 2, np.float32),
            tried=np.empty(2 * THRESHOLDS, np.float32),
            lefts=np.empty(2 * THRESHOLDS, np.int64),
        )


class SplitScratch(NamedTuple):
    """Working arrays while scoring one candidate."""

    codes: np.ndarray  # uint8[rows]
    ranks: np.ndarray  # int32[EXACT_ROWS], int32[rows] where statistics are many
    marks: np.ndarray  # float32[SAMPLE_ROWS]: some values in order
    left: np.ndarray  # float32[statistics + 2, MAX_BINS + 1]: then weight, then row count
    spare: np.ndarray  # float32[3, MAX_BINS + 1]: more bins to add to in turn
    packed: np.ndarray  # int64[MAX_BINS + 1]: number, weight and count in one integer
    packed_spare: np.ndarray  # int64[3, MAX_BINS + 1]
    total: np.ndarray  # float32[statistics + 2]
    scores: np.ndarray  # float32[MAX_BINS + 1]
    tried: np.ndarray  # float32[THRESHOLDS]

    @classmethod
    def allocate(cls, n_rows: int, n_stats: int) -> SplitScratch:
        """Allocate arrays for nodes of at most `n_rows` rows."""
        ranked = max(n_rows, EXACT_ROWS) if n_stats >= MANY_STATISTICS else EXACT_ROWS
        return cls(
            codes=np.empty(n_rows + LANES, np.uint8),
            ranks=np.empty(ranked, np.int32),
            marks=np.empty(SAMPLE_ROWS, np.float32),
            left=np.empty((n_stats + 2, MAX_BINS + 1), np.float32),
            spare=np.empty((3, MAX_BINS + 1), np.float32),
            packed=np.empty(MAX_BINS + 1, np.int64),
            packed_spare=np.empty((3, MAX_BINS + 1), np.int64),
            total=np.empty(n_stats + 2, np.float32),
            scores=np.empty(MAX_BINS + 1, np.float32),
            tried=np.empty(THRESHOLDS, np.float32),
        )


class Candidates(NamedTuple):
    """The candidates of a node."""

    programs: np.ndarray  # int32[budget + 2, max_size]
    visited: np.ndarray  # int32[budget + 2, max_size]: automaton states after each symbol
    seen: np.ndarray  # uint64: hash table of the programs tried at this node, 0 where empty
    order: np.ndarray  # int64: survivors of halving; at least as long as there are columns

    @classmethod
    def allocate(cls, slots: int, width: int, n_columns: int, *, hashed: bool) -> Candidates:
        """Allocate `slots` programs; the hash table only where programs are remembered."""
        return cls(
            programs=np.empty((slots, width), np.int32),
            visited=np.empty((slots, width), np.int32),
            seen=np.empty(1 << (4 * slots).bit_length() if hashed else 1, np.uint64),
            order=np.empty(max(slots, n_columns), np.int64),
        )


class CandidateScores(NamedTuple):
    """How the candidates of a node scored, and the best program."""

    scores: np.ndarray  # float32[budget + 2]
    thresholds: np.ndarray  # float32[budget + 2]
    best: np.ndarray  # int32[1, max_size]

    @classmethod
    def allocate(cls, slots: int, width: int) -> CandidateScores:
        """Allocate scores of `slots` candidates."""
        return cls(
            scores=np.empty(slots, np.float32),
            thresholds=np.empty(slots, np.float32),
            best=np.empty((1, width), np.int32),
        )


class EvalScratch(NamedTuple):
    """Working arrays while evaluating a program."""

    values: np.ndarray  # float32[1, rows]
    intermediates: np.ndarray  # float32[2 * max_size, CHUNK_ROWS]
    local: np.ndarray  # int32[1, max_size]
    stack: np.ndarray  # int64[max_size + 1]
    operands: np.ndarray  # float32[MAX_USER_ARITY]

    @classmethod
    def allocate(cls, n_rows: int, width: int) -> EvalScratch:
        """Allocate arrays for programs of `width` symbols on at most `n_rows` rows."""
        return cls(
            values=np.empty((1, n_rows + LANES), np.float32),
            intermediates=np.empty((2 * width, CHUNK_ROWS), np.float32),
            local=np.empty((1, width), np.int32),
            stack=np.empty(width + 1, np.int64),
            operands=np.empty(MAX_USER_ARITY, np.float32),
        )


class ProgramPool(NamedTuple):
    """Random programs drawn for one tree; each node scores some of them."""

    programs: np.ndarray  # int32[draws, max_size]: distinct ones
    draws: np.ndarray  # int32: numbers of programs as often as drawn, sorted by shape; 2**k long
    drawn: np.ndarray  # int32[draws]: the same, as they came
    stamps: np.ndarray  # int32[draws]: the node at which a program was scored last
    table: np.ndarray  # int32: hash table of the programs' numbers, -1 where empty
    places: np.ndarray  # int64[N_SHAPES + 1]: where the draws of a shape begin
    forms: np.ndarray  # int32[draws, FORM_SIZE]: what the simple ones compute

    @classmethod
    def allocate(cls, size: int, width: int) -> ProgramPool:
        """Allocate a pool of `size` draws, a power of two."""
        return cls(
            programs=np.empty((size, width), np.int32),
            draws=np.empty(size, np.int32),
            drawn=np.empty(size, np.int32),
            stamps=np.empty(size, np.int32),
            table=np.empty(4 * size, np.int32),
            places=np.empty(N_SHAPES + 1, np.int64),
            forms=np.empty((size, FORM_SIZE), np.int32),
        )


class OperatorWeights(NamedTuple):
    """The operators to draw from by weight, and what a growing tree knows about them."""

    # what may be built
    opcodes: np.ndarray  # int64[operators]
    arities: np.ndarray  # int64[operators]
    inputs: np.ndarray  # int64[operators, operands]: the domain each operand must have
    outputs: np.ndarray  # int64[operators]: the domain of the result
    swaps: np.ndarray  # int64[operators]: 1 where exchanged operands tell nothing new
    by_domain: np.ndarray  # int64[columns]: numbers, then Booleans, then categories
    first: np.ndarray  # int64[domains]: where the columns that a domain accepts begin there
    last: np.ndarray  # int64[domains]: and where they end
    learns: np.ndarray  # int64[1]: 1 where weights follow the gains
    max_order: np.ndarray  # int64[1]: operators on top of one another
    # the tree: an entry per node
    weights: np.ndarray  # float64[nodes, operators]: after the node was searched
    gains: np.ndarray  # float64[nodes, operators]: mean gain of what each operator built there
    counts: np.ndarray  # int64[nodes, operators]: number of features it built
    parents: np.ndarray  # int64[nodes]: -1 at the root
    programs: np.ndarray  # int32[nodes, max_size]: those of the tree itself
    # the node being searched
    node: np.ndarray  # int64[1]
    barred: np.ndarray  # uint8[columns]: raw columns that were chosen above
    above: np.ndarray  # int64[nodes]: nodes above whose features may be operands
    kinds: np.ndarray  # int64[nodes]: the domains of those features

    @classmethod
    def empty(cls) -> OperatorWeights:
        """Return a struct for trees that do not draw by weight."""
        none, one = np.empty(0, np.int64), np.zeros(1, np.int64)
        return cls(
            opcodes=none,
            arities=none,
            inputs=np.empty((0, 1), np.int64),
            outputs=none,
            swaps=none,
            by_domain=none,
            first=none,
            last=none,
            learns=one,
            max_order=one,
            weights=np.zeros((1, 1)),
            gains=np.zeros((1, 1)),
            counts=np.zeros((1, 1), np.int64),
            parents=one,
            programs=np.zeros((1, 1), np.int32),
            node=np.zeros(1, np.int64),
            barred=np.zeros(1, np.uint8),
            above=one,
            kinds=one,
        )


class TreeBuffers(NamedTuple):
    """All working arrays of one growing tree."""

    rows: Rows
    sampled: Rows
    scratch: SplitScratch
    found: Candidates
    candidate_scores: CandidateScores
    evaluation: EvalScratch
    buffer: np.ndarray  # float32[columns + max_size, rows searched at once]
    pool: ProgramPool
    sample_ids: np.ndarray  # int32
    spare: np.ndarray  # int32
    frontier: np.ndarray  # int64
    operator_weights: OperatorWeights

    @classmethod
    def allocate(
        cls, n_rows: int, n_columns: int, n_stats: int, width: int, settings: Any, capacity: int
    ) -> TreeBuffers:
        """Allocate the working arrays of a tree of at most `capacity` nodes on `n_rows` rows."""
        by_class = bool(settings["by_class"])
        budget = int(settings["budget"])
        searched = budget > 0
        sample = int(settings["sample"]) if searched else 0
        # The largest node whose columns are gathered together, and the largest sample of a larger
        # one.
        gathered = min(n_rows, max(sample * 3 // 2, GATHERED_ROWS)) if sample else n_rows
        sampled = min(n_rows, max(sample, n_rows * 2 // 3 + 1)) if sample else 1
        slots = budget + 2 if searched else 1
        stepwise = searched and settings["strategy"] != RANDOM_SEARCH
        # A tree with few nodes, or a small budget, needs fewer programs to choose from.
        draws = min(POOL_BUDGETS * budget, budget * max(4, capacity // 2))
        pool = 1 << max(1, draws - 1).bit_length() if searched and not stepwise else 2
        shape = (n_columns + width, gathered + LANES) if searched else (1, 1)
        return cls(
            rows=Rows.allocate(n_rows, n_stats, by_class=by_class),
            sampled=Rows.allocate(sampled, n_stats, by_class=by_class),
            scratch=SplitScratch.allocate(n_rows, n_stats),
            found=Candidates.allocate(slots, width, n_columns, hashed=stepwise),
            candidate_scores=CandidateScores.allocate(slots, width),
            evaluation=EvalScratch.allocate(n_rows, width),
            buffer=np.empty(shape, np.float32),
            pool=ProgramPool.allocate(pool, width),
            sample_ids=np.empty(sampled, np.int32),
            spare=np.empty(n_rows + 1, np.int32),
            frontier=np.empty(capacity, np.int64),
            operator_weights=OperatorWeights.empty(),
        )


class GrowContext(NamedTuple):
    """What kernels pass on to one another while a tree grows."""

    rows: Rows  # prepared for scoring
    row_ids: np.ndarray  # int32: those rows, each node's side by side
    matrix: np.ndarray  # float32[all rows, columns]
    columns: np.ndarray  # float32[columns, all rows]
    target: Target
    settings: Any  # a SETTINGS record
    grammar: Grammar
    users: UserFunctions
    state: Any  # a STATE record
    stop: np.ndarray  # int64[1]: non-zero ends growth at once
    tree: GrownTree
    buffers: TreeBuffers

    def of_sample(self) -> GrowContext:
        """Return the context in which a sample of a node's rows is searched."""
        return self._replace(rows=self.buffers.sampled, row_ids=self.buffers.sample_ids)

    @classmethod
    def example(cls) -> GrowContext:
        """Return a context of the right types with nothing in it, to compile for."""
        settings, none = make_record(SETTINGS), np.empty(0, np.int64)
        floats, small = np.empty((0, 0), np.float32), np.empty(0, np.int32)
        buffers = TreeBuffers.allocate(1, 1, 1, 1, settings, 1)
        return cls(
            rows=buffers.rows,
            row_ids=buffers.spare,
            matrix=floats,
            columns=floats,
            target=Target(small, floats, np.empty(0, np.float32)),
            settings=settings,
            grammar=Grammar(none, none, small, small, none),
            users=UserFunctions(none, none),
            state=make_record(STATE),
            stop=np.zeros(1, np.int64),
            tree=GrownTree.allocate(1, 1),
            buffers=buffers,
        )
