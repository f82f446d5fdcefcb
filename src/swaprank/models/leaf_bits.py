"""The bits of the leaves that documents can reach: the operations on them that Numba has no words for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from swaprank.arrays import AnyArray

LANES = 16
"""Documents whose bits are cleared together: a word of bits has one copy per lane, next to each other."""


@intrinsic
def _mask_lanes(typingctx: Any, bits: Any, word: Any, values: Any, limit: Any, mask: Any) -> Any:
    """Apply the mask in every lane whose value is above the limit, in vectors that LLVM would not find itself.

    If the values are words instead of numbers, the limit is a bit, and the lanes are those whose word has this bit.
    """
    are_numbers = values.dtype == types.float32

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        int32 = ir.IntType(32)
        bits_type = ir.VectorType(int32, LANES)
        values_type = ir.VectorType(ir.FloatType(), LANES) if are_numbers else bits_type

        def element(argument: int, index: Any, vector: Any) -> Any:
            array = context.make_array(signature.args[argument])(context, builder, arguments[argument])
            return builder.bitcast(builder.gep(array.data, [index]), vector.as_pointer())

        def broadcast(value: Any, vector: Any) -> Any:
            undefined = ir.Constant(vector, ir.Undefined)
            single = builder.insert_element(undefined, value, int32(0))
            return builder.shuffle_vector(single, undefined, ir.Constant(bits_type, [0] * LANES))

        lanes = builder.mul(arguments[1], ir.IntType(64)(LANES))
        before = builder.load(element(0, lanes, bits_type), align=4)
        x = builder.load(element(2, ir.IntType(64)(0), values_type), align=4)
        limits = broadcast(arguments[3], values_type)
        if are_numbers:
            above = builder.fcmp_ordered(">", x, limits)
        else:
            above = builder.icmp_unsigned("==", builder.and_(x, limits), limits)
        after = builder.and_(before, broadcast(arguments[4], bits_type))
        builder.store(builder.select(above, after, before), element(0, lanes, bits_type), align=4)
        return context.get_dummy_value()

    return types.void(bits, types.uint64, values, values.dtype, types.uint32), generate


@intrinsic
def _lowest_bit(typingctx: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.IntType(1)(1))

    return types.uint64(types.uint64), generate


mask_lanes: Callable[[AnyArray, Any, AnyArray, Any, Any], None] = _mask_lanes  # type: ignore[assignment]
lowest_bit: Callable[[Any], Any] = _lowest_bit  # type: ignore[assignment]
