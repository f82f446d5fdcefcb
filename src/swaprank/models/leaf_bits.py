"""The bits of the leaves that documents can reach: the operations on them that Numba has no words for."""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from swaprank.arrays import AnyArray
from swaprank.lanes import element_pointer

LANES = 32
"""Documents whose bits are cleared together: a word of bits has one copy per lane, next to each other."""


@intrinsic
def _mask_lanes(
    typingctx: Any, bits: Any, values: Any, limits: Any, words: Any, masks: Any, first: Any, last: Any
) -> Any:
    """For the steps from first to last: apply the mask to the word, in every lane whose value is above the limit.

    If the values are words instead of numbers, the limit is a bit, and the lanes are those whose word has this bit.
    LLVM would not find these vectors itself, and would load the values in every step: they might be part of the bits.
    """
    are_numbers = values.dtype == types.float32

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        int32, int64 = ir.IntType(32), ir.IntType(64)
        bits_type = ir.VectorType(int32, LANES)
        values_type = ir.VectorType(ir.FloatType(), LANES) if are_numbers else bits_type

        def element(argument: int, index: Any) -> Any:
            return element_pointer(context, builder, signature.args[argument], arguments[argument], index)

        def broadcast(value: Any, vector: Any) -> Any:
            undefined = ir.Constant(vector, ir.Undefined)
            single = builder.insert_element(undefined, value, int32(0))
            return builder.shuffle_vector(single, undefined, ir.Constant(bits_type, [0] * LANES))

        x = builder.load(builder.bitcast(element(1, int64(0)), values_type.as_pointer()), align=4)
        with cgutils.for_range(builder, arguments[6], start=arguments[5], intp=int64) as loop:
            limit, word, mask = (builder.load(element(argument, loop.index)) for argument in (2, 3, 4))
            limit = broadcast(limit, values_type)
            if are_numbers:
                above = builder.fcmp_ordered(">", x, limit)
            else:
                above = builder.icmp_unsigned("==", builder.and_(x, limit), limit)
            lanes = element(0, builder.mul(builder.zext(word, int64), int64(LANES)))
            lanes = builder.bitcast(lanes, bits_type.as_pointer())
            before = builder.load(lanes, align=4)
            after = builder.and_(before, broadcast(mask, bits_type))
            builder.store(builder.select(above, after, before), lanes, align=4)
        return context.get_dummy_value()

    return types.void(bits, values, limits, words, masks, types.int64, types.int64), generate


@intrinsic
def _lowest_bit(typingctx: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.IntType(1)(1))

    return types.uint64(types.uint64), generate


mask_lanes: Callable[[AnyArray, AnyArray, AnyArray, AnyArray, AnyArray, int, int], None] = _mask_lanes  # type: ignore[assignment]
lowest_bit: Callable[[Any], Any] = _lowest_bit  # type: ignore[assignment]
