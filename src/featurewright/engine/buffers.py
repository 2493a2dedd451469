"""The structs that kernels work with: records of scalars, and named tuples of arrays.

They are allocated once per thread and reused from tree to tree. Kernels pass a tuple by its address
(`compiler.references`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from featurewright.expressions.operators import MAX_ARITY

N_THRESHOLDS = 8  # tried per candidate while candidates are compared
MAX_EXACT_ROWS = 32  # up to this many rows, every distinct value has its own bin
MAX_BINS = 128  # the code after the last bin means missing, so codes fit a byte
SAMPLE_ROWS = 32  # in the sample that locates most of a candidate's values
SPARSE_MIN_STATISTICS = 4  # from this many statistics on, sparse columns are scored as such
CHUNK_ROWS = 1024  # evaluated at a time: the operands of an operator stay in the L1 cache
LANES = 32  # loops run over whole groups of rows, padded with copies of the last row
N_SHAPES = 256  # hash values by which the programs of a pool are sorted
FORM_FIELDS = 6  # integers that describe a simple expression: see `fast_path.record_form`
POOL_BUDGETS = 16  # size of a tree's program pool, in budgets of a node
SCREEN_ROWS = 8192  # of the sample on which a large node compares raw columns
SCREEN_MIN_ROWS = 3 * SCREEN_ROWS  # of a large node
SCREEN_KEEP = 8  # one in this many columns is then scored on all rows
MAX_GATHERED_ROWS = 2048  # of a node whose columns are all gathered at once
HISTOGRAM_BINS = 255  # of a raw column in histograms; the code after the last bin means missing

NO_SEARCH = 0
RANDOM_SEARCH = 1
STEP = 2
LOOK_AHEAD = 3
WEIGHTED = 4  # one operator per candidate, drawn by learned weights
# The names by which users ask for them.
STRATEGIES = {"random": RANDOM_SEARCH, "step": STEP, "look_ahead": LOOK_AHEAD}

SETTINGS = np.dtype(
    [
        # scoring
        ("by_class", np.int64),  # 1: statistics are class weights, rows are sorted by class
        ("whole_weights", np.int64),  # 1: all weights are integers
        ("criterion", np.int64),
        ("random_threshold", np.int64),  # 1: one uniform threshold, 0: the best one
        ("many_thresholds", np.int64),  # 1: compare candidates by all boundaries between bins
        ("min_rows", np.int64),  # least number of rows on each side of a split
        ("min_weight", np.float32),  # a split needs more than this weight on each side
        ("side_share", np.float32),  # least share of a node's weight on each side, up to some rows
        ("cut_cost", np.int64),  # 1: the bits that name a threshold lessen the gain
        ("l2", np.float32),
        ("centered", np.int64),  # 1: target sums are taken about the node's mean
        # search
        ("strategy", np.int64),
        ("budget", np.int64),  # expressions scored per node; 0: none
        ("n_raw", np.int64),  # raw columns scored per node
        ("sample", np.int64),  # rows of the first round of halving; 0: no halving
        ("keep", np.int64),  # factor of halving: candidates are divided by it, rows multiplied
        # growth
        ("max_depth", np.int64),
        ("max_leaves", np.int64),  # 0: depth first without a limit; else best first
        ("min_split", np.int64),  # least number of rows of a node that is split
        ("min_gain", np.float32),
        ("f_to_enter", np.float32),  # a split's gain over what it would gain by chance; 0: any
        ("strict", np.int64),  # 1: a split must gain something
        ("missing_both", np.int64),  # 1: rows missing the tested value go to both sides
        ("level_sets", np.int64),  # 1: categories are split into two sets of levels
        ("spare_rows", np.int64),  # free entries after the row ids, for rows that go both ways
        # addresses of kernels
        ("scorer", np.int64),
        ("runner", np.int64),
        ("searcher", np.int64),  # of expressions; 0 without a search
        ("filler", np.int64),  # of the program pool; 0 without one
    ],
    align=True,
)

STATE = np.dtype(
    [
        ("random", np.uint64),  # state of the tree's random generator
        ("grammar_state", np.int64),  # automaton state after the symbol just drawn
        ("node", np.int64),  # number of nodes searched
        ("scored", np.int64),  # candidates scored at this node
        ("tries", np.int64),  # candidates drawn at this node
        ("remembered", np.int64),  # programs in the hash table
        # the candidate just scored
        ("values_row", np.int64),  # row of the buffer that has its values
        ("boundary", np.int64),
        ("many_thresholds", np.int64),  # 1: compare it by all boundaries between bins
        ("few_thresholds", np.int64),  # 1: it was compared by a few thresholds
        ("missing", np.int64),  # 1: some of its values are missing
        ("is_set", np.int64),  # 1: its test is for a set of levels
        ("perfect", np.int64),  # 1: it separates the two classes present: nothing scores higher
        ("low", np.float32),
        ("high", np.float32),
        ("threshold", np.float32),
        ("center", np.float32),  # where most of its values are, if it has long tails
        ("width", np.float32),
        # the node's best candidate
        ("is_evaluated", np.int64),  # 1: `evaluation.values` has its values for all rows
        ("best_score", np.float32),
        ("best_threshold", np.float32),
        ("best_is_level", np.int64),  # as `is_level` of a tree
        ("best_perfect", np.int64),
        ("best_few_thresholds", np.int64),
    ],
    align=True,
)

ROWS_SUMMARY = np.dtype(
    [
        # limits of a split of these rows; lower if they are a sample of the node
        ("min_rows", np.int64),
        ("min_weight", np.float32),
        # classes
        ("class_bits", np.int64),  # per class in a packed weight; 0: weights are not packed
        ("narrow", np.int64),  # 1: packed weights fit 32 bits
        ("sum_packed", np.uint64),  # sum of all packed weights
        ("class_entropy", np.float32),  # entropy times weight, if weights are packed
        ("weight_entropy", np.float32),  # x log2 x of the weight, if weights are packed
        # one target column
        ("squared_deviations", np.float32),
        ("sums_packed", np.int64),  # 1: target, weight and count share one integer
        ("number_unit", np.float32),  # factors of packed targets and weights
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


def count_words(n_levels: int) -> int:
    """Return the number of 32-bit words of a set of levels."""
    return -(-n_levels // 32)


class Target(NamedTuple):
    """What the tree predicts."""

    codes: np.ndarray  # int32[n]: class of each row; empty without classes
    sums: np.ndarray  # float32[targets, n]: weighted target columns; no rows with classes
    weights: np.ndarray  # float32[n]


class Grammar(NamedTuple):
    """The automaton as lists of choices: the valid symbols of each state, including END.

    A choice is drawn uniformly, so more probable symbols are listed repeatedly; each symbol is
    listed once before any repetition.
    """

    start: np.ndarray  # int64[states + 1]: where a state's choices begin
    n_distinct: np.ndarray  # int64[states]: number of distinct ones
    symbol: np.ndarray  # int32[choices]
    following: np.ndarray  # int32[choices]: the state after the symbol
    n_levels: np.ndarray  # int64[columns]: levels of a Category column, 0 for the others


class UserFunctions(NamedTuple):
    """The compiled user operators of one fit, by slot."""

    addresses: np.ndarray  # int64: of the functions for the float width in use
    arities: np.ndarray  # int64


class GrownTree(NamedTuple):
    """A tree while it grows: one entry per node; two siblings are adjacent."""

    left: np.ndarray  # int32: index of the left child, -1 at a leaf; the right one follows it
    programs: np.ndarray  # int32[nodes, max_size]
    threshold: np.ndarray  # float32
    is_level: np.ndarray  # uint8: 1: the test is "equal to the threshold", 2: "in the level set"
    level_sets: np.ndarray  # uint32[nodes, words]: a bit per level; no words if not used
    missing_left: np.ndarray  # uint8
    gain: np.ndarray  # float32: of the split, in units of weight
    start: np.ndarray  # int64: the node's rows are row_ids[start : start + size]
    size: np.ndarray  # int64
    left_size: np.ndarray  # int64: rows of the left child, if there is a split
    spare_rows: np.ndarray  # int64: free entries after them, for rows that go to both children
    depth: np.ndarray  # int32
    rank: np.ndarray  # float32: gain by which best-first growth chooses

    @classmethod
    def allocate(cls, capacity: int, width: int, n_levels: int = 0) -> GrownTree:
        """Allocate a tree of at most `capacity` nodes with programs of `width` symbols.

        Level sets are of at most `n_levels` levels.
        """
        return cls(
            left=np.empty(capacity, np.int32),
            programs=np.empty((capacity, width), np.int32),
            threshold=np.empty(capacity, np.float32),
            is_level=np.empty(capacity, np.uint8),
            level_sets=np.empty((capacity, count_words(n_levels)), np.uint32),
            missing_left=np.empty(capacity, np.uint8),
            gain=np.empty(capacity, np.float32),
            start=np.empty(capacity, np.int64),
            size=np.empty(capacity, np.int64),
            left_size=np.empty(capacity, np.int64),
            spare_rows=np.empty(capacity, np.int64),
            depth=np.empty(capacity, np.int32),
            rank=np.empty(capacity, np.float32),
        )


class Rows(NamedTuple):
    """The statistics of the rows of a node, or of a sample of it.

    With classes, rows are sorted by class and statistic p is the weight between segments[p] and
    segments[p + 1]; only classes present have one. Otherwise statistic p is row p of `weights`,
    weighted target values, and the row after the last statistic holds the weights.
    """

    weights: np.ndarray  # float32[statistics, rows]: padded with zeros, unless by class
    segments: np.ndarray  # int64[statistics + 1]
    packed: np.ndarray  # int64[rows]: class weights in separate bits; or one target column
    narrow: np.ndarray  # uint32[rows]: the same in 32 bits
    summary: Any  # a ROWS_SUMMARY record
    totals: np.ndarray  # float32[statistics + 1]: of each statistic, then of the weight
    tried: np.ndarray  # float32[2 * N_THRESHOLDS]: thresholds of a candidate, NaN if unused
    lefts: np.ndarray  # int64[2 * N_THRESHOLDS]: packed weights left of them

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
            tried=np.empty(2 * N_THRESHOLDS, np.float32),
            lefts=np.empty(2 * N_THRESHOLDS, np.int64),
        )


class SplitScratch(NamedTuple):
    """Working arrays while scoring one candidate."""

    codes: np.ndarray  # uint8[rows]
    ranks: np.ndarray  # int32[MAX_EXACT_ROWS]; int32[rows] from SPARSE_MIN_STATISTICS on
    marks: np.ndarray  # float32[SAMPLE_ROWS]: sorted sample values
    left: np.ndarray  # float32[statistics + 2, MAX_BINS + 1]: weight and row count last
    spare: np.ndarray  # float32[3, MAX_BINS + 1]: partial histograms
    packed: np.ndarray  # int64[MAX_BINS + 1]: target, weight and count in one integer
    packed_spare: np.ndarray  # int64[3, MAX_BINS + 1]
    total: np.ndarray  # float32[statistics + 2]
    scores: np.ndarray  # float32[MAX_BINS + 1]
    tried: np.ndarray  # float32[N_THRESHOLDS]
    # levels of a category that is split into two sets
    level_sums: np.ndarray  # float32[statistics + 2, levels]: weight and row count last
    level_keys: np.ndarray  # float32[levels]: by which they are sorted
    level_order: np.ndarray  # int32[levels]: those present, sorted
    level_bins: np.ndarray  # uint8[levels]
    level_set: np.ndarray  # uint32[1, words]: of the candidate just scored
    best_level_set: np.ndarray  # uint32[1, words]: of the node's best candidate

    @classmethod
    def allocate(cls, n_rows: int, n_stats: int, n_levels: int = 0) -> SplitScratch:
        """Allocate arrays for nodes of at most `n_rows` rows and sets of `n_levels` levels."""
        words = count_words(n_levels)
        ranked = max(n_rows, MAX_EXACT_ROWS) if n_stats >= SPARSE_MIN_STATISTICS else MAX_EXACT_ROWS
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
            tried=np.empty(N_THRESHOLDS, np.float32),
            level_sums=np.empty((n_stats + 2, n_levels), np.float32),
            level_keys=np.empty(n_levels, np.float32),
            level_order=np.empty(n_levels, np.int32),
            level_bins=np.empty(n_levels, np.uint8),
            level_set=np.empty((1, words), np.uint32),
            best_level_set=np.empty((1, words), np.uint32),
        )


class Candidates(NamedTuple):
    """The candidates of a node."""

    programs: np.ndarray  # int32[budget + 2, max_size]
    visited: np.ndarray  # int32[budget + 2, max_size]: automaton states after each symbol
    seen: np.ndarray  # uint64: hash table of the programs scored at this node, 0 if empty
    order: np.ndarray  # int64[max(budget + 2, columns)]: survivors of halving, or columns

    @classmethod
    def allocate(cls, slots: int, width: int, n_columns: int, *, hashed: bool) -> Candidates:
        """Allocate `slots` programs, and a hash table if `hashed`."""
        return cls(
            programs=np.empty((slots, width), np.int32),
            visited=np.empty((slots, width), np.int32),
            seen=np.empty(1 << (4 * slots).bit_length() if hashed else 1, np.uint64),
            order=np.empty(max(slots, n_columns), np.int64),
        )


class CandidateScores(NamedTuple):
    """The scores of a node's candidates, and the best program."""

    scores: np.ndarray  # float32[max(budget + 2, columns)]
    thresholds: np.ndarray  # float32[max(budget + 2, columns)]
    best: np.ndarray  # int32[1, max_size]

    @classmethod
    def allocate(cls, slots: int, width: int, n_columns: int) -> CandidateScores:
        """Allocate scores of `slots` candidates, or of all columns."""
        return cls(
            scores=np.empty(max(slots, n_columns), np.float32),
            thresholds=np.empty(max(slots, n_columns), np.float32),
            best=np.empty((1, width), np.int32),
        )


class EvalScratch(NamedTuple):
    """Working arrays while evaluating a program."""

    values: np.ndarray  # float32[1, rows]
    intermediates: np.ndarray  # float32[2 * max_size, CHUNK_ROWS]
    local: np.ndarray  # int32[1, max_size]
    stack: np.ndarray  # int64[max_size + 1]
    operands: np.ndarray  # float32[MAX_ARITY]

    @classmethod
    def allocate(cls, n_rows: int, width: int) -> EvalScratch:
        """Allocate arrays for programs of `width` symbols on at most `n_rows` rows."""
        return cls(
            values=np.empty((1, n_rows + LANES), np.float32),
            intermediates=np.empty((2 * width, CHUNK_ROWS), np.float32),
            local=np.empty((1, width), np.int32),
            stack=np.empty(width + 1, np.int64),
            operands=np.empty(MAX_ARITY, np.float32),
        )


class ProgramPool(NamedTuple):
    """Random programs drawn for one tree; each node scores some of them."""

    programs: np.ndarray  # int32[draws, max_size]: distinct programs
    draws: np.ndarray  # int32[draws]: program of each draw, sorted by shape; a power of two
    drawn: np.ndarray  # int32[draws]: the same, in the order of drawing
    stamps: np.ndarray  # int32[draws]: the last node at which a program was scored
    table: np.ndarray  # int32: hash table of program numbers, -1 if empty
    places: np.ndarray  # int64[N_SHAPES + 1]: positions of the counting sort by shape
    forms: np.ndarray  # int32[draws, FORM_FIELDS]: description of simple programs

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
            forms=np.empty((size, FORM_FIELDS), np.int32),
        )


class OperatorWeights(NamedTuple):
    """The operators that are drawn by weight, and the weights learned while a tree grows."""

    # operators and columns
    opcodes: np.ndarray  # int64[operators]
    arities: np.ndarray  # int64[operators]
    inputs: np.ndarray  # int64[operators, operands]: required domain of each operand
    outputs: np.ndarray  # int64[operators]: domain of the result
    swaps: np.ndarray  # int64[operators]: 1 if the order of the operands is irrelevant
    by_domain: np.ndarray  # int64[columns]: sorted by domain: numbers, Booleans, categories
    first: np.ndarray  # int64[domains]: start of the columns in it that a domain accepts
    last: np.ndarray  # int64[domains]: end of those columns
    strength: np.ndarray  # float64[1]: of the change of weights; 0: they stay equal
    max_order: np.ndarray  # int64[1]: largest nesting depth of operators
    reuses: np.ndarray  # int64[1]: 1 if a path may test a column or feature again
    # per node of the tree
    weights: np.ndarray  # float64[nodes, operators]: after the node was searched
    gains: np.ndarray  # float64[nodes, operators]: mean gain above chance of its candidates
    counts: np.ndarray  # int64[nodes, operators]: number of the operator's candidates
    parents: np.ndarray  # int64[nodes]: -1 at the root
    programs: np.ndarray  # int32[nodes, max_size]: the tree's own array
    # the node being searched
    node: np.ndarray  # int64[1]
    excluded: np.ndarray  # uint8[columns]: 1 for raw columns chosen by ancestors
    ancestors: np.ndarray  # int64[nodes]: ancestors whose features may be operands
    ancestor_domains: np.ndarray  # int64[nodes]: domains of those features

    @classmethod
    def empty(cls) -> OperatorWeights:
        """Return an empty struct, for trees that do not draw operators by weight."""
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
            strength=np.zeros(1),
            max_order=one,
            reuses=one,
            weights=np.zeros((1, 1)),
            gains=np.zeros((1, 1)),
            counts=np.zeros((1, 1), np.int64),
            parents=one,
            programs=np.zeros((1, 1), np.int32),
            node=np.zeros(1, np.int64),
            excluded=np.zeros(1, np.uint8),
            ancestors=one,
            ancestor_domains=one,
        )


class ColumnBins(NamedTuple):
    """All raw columns in bins that are chosen once for a fit."""

    codes: np.ndarray  # uint8[all rows, columns]: bins
    edges: np.ndarray  # float32[columns, HISTOGRAM_BINS]: a value in bin b is at most edges[b]
    counts: np.ndarray  # int64[columns]: number of bins


class Histograms(NamedTuple):
    """Sums of one target, its weight and its row count by bins of raw columns, at several nodes.

    They are whole numbers, so that those of a node are exactly those of its parent minus those of
    its sibling.
    """

    codes: np.ndarray  # those of the fit's `ColumnBins`: no columns if there are no histograms
    edges: np.ndarray
    counts: np.ndarray
    packed: np.ndarray  # int64[all rows]: target, weight and 1, in units of the tree
    units: np.ndarray  # float32[2]: what targets and weights were multiplied by
    block: np.ndarray  # int64[columns, codes]: packed sums of some rows
    sums: np.ndarray  # int64[slots, 2, columns, codes]: targets; weights and counts
    slots: np.ndarray  # int64[nodes]: slot of a node's sums, -1 if there are none
    free: np.ndarray  # int64[slots + 1]: their number, then the free slots
    left: np.ndarray  # float32[3, HISTOGRAM_BINS]: target, weight and count up to each bin
    total: np.ndarray  # float32[3]
    scores: np.ndarray  # float32[HISTOGRAM_BINS]

    @classmethod
    def allocate(cls, bins: ColumnBins, n_slots: int, capacity: int) -> Histograms:
        """Allocate sums for `n_slots` nodes at a time, of a tree of at most `capacity` nodes."""
        n_rows, n_columns = bins.codes.shape
        n_codes = HISTOGRAM_BINS + 1
        return cls(
            *bins,
            packed=np.empty(n_rows, np.int64),
            units=np.empty(2, np.float32),
            block=np.empty((n_columns, n_codes), np.int64),
            sums=np.empty((n_slots, 2, n_columns, n_codes), np.int64),
            slots=np.empty(capacity, np.int64),
            free=np.empty(n_slots + 1, np.int64),
            left=np.empty((3, HISTOGRAM_BINS), np.float32),
            total=np.empty(3, np.float32),
            scores=np.empty(HISTOGRAM_BINS, np.float32),
        )

    @classmethod
    def empty(cls) -> Histograms:
        """Return an empty struct, for nodes that make bins of their own."""
        codes, edges = np.empty((0, 0), np.uint8), np.empty((0, HISTOGRAM_BINS), np.float32)
        return cls.allocate(ColumnBins(codes, edges, np.empty(0, np.int64)), 0, 0)


class TreeBuffers(NamedTuple):
    """All working arrays of one growing tree."""

    rows: Rows
    sampled: Rows
    scratch: SplitScratch
    candidates: Candidates
    candidate_scores: CandidateScores
    evaluation: EvalScratch
    buffer: np.ndarray  # float32[columns + max_size, rows searched at once]
    pool: ProgramPool
    sample_ids: np.ndarray  # int32
    spare: np.ndarray  # int32
    frontier: np.ndarray  # int64
    operator_weights: OperatorWeights
    histograms: Histograms

    @classmethod
    def allocate(
        cls,
        n_rows: int,
        n_columns: int,
        n_stats: int,
        width: int,
        settings: Any,
        capacity: int,
        n_levels: int = 0,
    ) -> TreeBuffers:
        """Allocate the working arrays of a tree of at most `capacity` nodes on `n_rows` rows.

        Level sets are of at most `n_levels` levels.
        """
        by_class = bool(settings["by_class"])
        budget = int(settings["budget"])
        searched = budget > 0
        sample = int(settings["sample"]) if searched else 0
        # The largest node whose columns are gathered at once, and the largest sample of a larger
        # node.
        gathered = min(n_rows, max(sample * 3 // 2, MAX_GATHERED_ROWS)) if sample else n_rows
        sampled = min(n_rows, max(sample, n_rows * 2 // 3 + 1)) if sample else 1
        slots = budget + 2 if searched else 1
        stepwise = searched and settings["strategy"] != RANDOM_SEARCH
        # A tree with few nodes, or a small budget, needs a smaller pool.
        draws = min(POOL_BUDGETS * budget, budget * max(4, capacity // 2))
        pool = 1 << max(1, draws - 1).bit_length() if searched and not stepwise else 2
        shape = (n_columns + width, gathered + LANES) if searched else (1, 1)
        return cls(
            rows=Rows.allocate(n_rows, n_stats, by_class=by_class),
            sampled=Rows.allocate(sampled, n_stats, by_class=by_class),
            scratch=SplitScratch.allocate(n_rows, n_stats, n_levels),
            candidates=Candidates.allocate(slots, width, n_columns, hashed=stepwise),
            candidate_scores=CandidateScores.allocate(slots, width, n_columns),
            evaluation=EvalScratch.allocate(n_rows, width),
            buffer=np.empty(shape, np.float32),
            pool=ProgramPool.allocate(pool, width),
            sample_ids=np.empty(sampled, np.int32),
            spare=np.empty(n_rows + 1, np.int32),
            frontier=np.empty(capacity, np.int64),
            operator_weights=OperatorWeights.empty(),
            histograms=Histograms.empty(),
        )


class GrowContext(NamedTuple):
    """The arguments that kernels share while a tree grows."""

    rows: Rows  # statistics of the rows being searched
    row_ids: np.ndarray  # int32: row numbers, those of a node contiguous
    matrix: np.ndarray  # float32[all rows, columns]
    columns: np.ndarray  # float32[columns, all rows]
    target: Target
    settings: Any  # a SETTINGS record
    grammar: Grammar
    users: UserFunctions
    state: Any  # a STATE record
    stop: np.ndarray  # int64[1]: a non-zero value stops growth
    tree: GrownTree
    buffers: TreeBuffers

    def of_sample(self) -> GrowContext:
        """Return the context in which a sample of a node's rows is searched."""
        return self._replace(rows=self.buffers.sampled, row_ids=self.buffers.sample_ids)

    @classmethod
    def example(cls) -> GrowContext:
        """Return an empty context, whose types kernels are compiled for."""
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
