"""Reading data: any frame or array becomes a typed matrix, a schema and a target."""

from featurewright.expressions.opcodes import FLOAT_MAX
from featurewright.tables.read import (
    apply_table,
    check_names,
    check_range,
    encode,
    fit_table,
    learn_schema,
    with_known_levels,
)
from featurewright.tables.schema import (
    MAX_CODES,
    MAX_LABEL,
    EncodedTable,
    Schema,
    check_input_names,
    check_label,
)
from featurewright.tables.sparse import as_dense, dense_blocks, is_sparse, read_sparse
from featurewright.tables.targets import (
    ClassTarget,
    MultiTarget,
    apply_class_weight,
    as_array,
    check_groups,
    check_length,
    check_weights,
    holds_numbers,
    is_missing,
    read_classes,
    read_numbers,
)

__all__ = [
    "FLOAT_MAX",
    "MAX_CODES",
    "MAX_LABEL",
    "ClassTarget",
    "EncodedTable",
    "MultiTarget",
    "Schema",
    "apply_class_weight",
    "apply_table",
    "as_array",
    "as_dense",
    "check_groups",
    "check_input_names",
    "check_label",
    "check_length",
    "check_names",
    "check_range",
    "check_weights",
    "dense_blocks",
    "encode",
    "fit_table",
    "holds_numbers",
    "is_missing",
    "is_sparse",
    "learn_schema",
    "read_classes",
    "read_numbers",
    "read_sparse",
    "with_known_levels",
]
