"""Vectors of bytes, one byte per document: the operations on them that Numba has no words for."""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from swaprank.arrays import AnyArray, Features
from swaprank.lanes import element_pointer

LANES = 64
"""Documents that are scored together: a byte has one copy per lane, next to each other."""
PART = 8
"""Thresholds that are compared together."""
LEAF_BYTES = 32
"""The number of a leaf is a byte, so trees may have this many bytes of bits."""

_BYTE, _INT32, _INT64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_VECTOR = ir.VectorType(_BYTE, LANES)


def _spread(builder: Any, value: Any, vector: Any) -> Any:
    """The value in all lanes."""
    undefined = ir.Constant(vector, ir.Undefined)
    single = builder.insert_element(undefined, value, _INT32(0))
    return builder.shuffle_vector(single, undefined, ir.Constant(ir.VectorType(_INT32, vector.count), None))


class _Elements:
    """The arrays that an intrinsic is given, as places to load from and to store to."""

    def __init__(self, context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        self.builder, self.arguments = builder, arguments
        self._places = context, builder, signature.args

    def place(self, argument: int, index: Any) -> Any:
        context, builder, kinds = self._places
        return element_pointer(context, builder, kinds[argument], self.arguments[argument], index)

    def value(self, argument: int, index: Any) -> Any:
        return self.builder.load(self.place(argument, index))

    def lanes(self, argument: int, index: Any) -> Any:
        return self.builder.bitcast(self.place(argument, index), _VECTOR.as_pointer())

    def load(self, argument: int, index: Any) -> Any:
        return self.builder.load(self.lanes(argument, index), align=1)


def _clearing(test: Callable[[Any, Any, Any], Any]) -> Any:
    """For the steps from first to last: clear bits of a byte, in every lane whose code passes the test.

    LLVM would not find these vectors itself, and would load the codes in every step: they might be part of the bits.
    """

    def typed(
        typingctx: Any, bits: Any, codes: Any, at: Any, limits: Any, places: Any, masks: Any, first: Any, last: Any
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            elements = _Elements(context, builder, signature, arguments)
            code = elements.load(1, arguments[2])
            with cgutils.for_range(builder, arguments[7], start=arguments[6], intp=_INT64) as loop:
                limit, place, mask = (elements.value(argument, loop.index) for argument in (3, 4, 5))
                passed = test(builder, code, _spread(builder, limit, _VECTOR))
                kept = _spread(builder, mask, _VECTOR)
                cleared = builder.and_(builder.sext(passed, _VECTOR), builder.not_(kept))
                lanes = elements.lanes(0, builder.zext(place, _INT64))
                before = builder.load(lanes, align=1)
                builder.store(builder.and_(before, builder.not_(cleared)), lanes, align=1)
            return context.get_dummy_value()

        return types.void(bits, codes, types.int64, limits, places, masks, types.int64, types.int64), generate

    return intrinsic(typed)


def _is_above(builder: Any, code: Any, limit: Any) -> Any:
    return builder.icmp_signed(">", code, limit)


def _has_bit(builder: Any, code: Any, bit: Any) -> Any:
    return builder.icmp_signed("==", builder.and_(code, bit), bit)


@intrinsic
def _first_leaves(typingctx: Any, bits: Any, start: Any, n_bytes: Any, leaves: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        elements = _Elements(context, builder, signature, arguments)
        zero = ir.Constant(_VECTOR, None)
        found, place = (cgutils.alloca_once_value(builder, zero) for _ in range(2))  # type: ignore[no-untyped-call]
        # From the last byte to the first, so that the first byte with a bit remains.
        with cgutils.for_range(builder, arguments[2], intp=_INT64) as loop:
            number = builder.sub(builder.sub(arguments[2], _INT64(1)), loop.index)
            byte = elements.load(0, builder.add(arguments[1], builder.mul(number, _INT64(LANES))))
            is_set = builder.icmp_unsigned("!=", byte, zero)
            first = _spread(builder, builder.trunc(builder.mul(number, _INT64(8)), _BYTE), _VECTOR)
            builder.store(builder.select(is_set, byte, builder.load(found)), found)
            builder.store(builder.select(is_set, first, builder.load(place)), place)
        lowest = ir.FunctionType(_VECTOR, [_VECTOR, ir.IntType(1)])
        function = cgutils.get_or_insert_function(builder.module, lowest, f"llvm.cttz.v{LANES}i8")  # type: ignore[no-untyped-call]
        bit = builder.call(function, [builder.load(found), ir.IntType(1)(1)])
        builder.store(builder.add(builder.load(place), bit), elements.lanes(3, _INT64(0)), align=1)
        return context.get_dummy_value()

    return types.void(bits, types.int64, types.int64, leaves), generate


@intrinsic
def _answered_leaves(typingctx: Any, codes: Any, rows: Any, limits: Any, first: Any, last: Any, leaves: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        elements = _Elements(context, builder, signature, arguments)
        number = cgutils.alloca_once_value(builder, ir.Constant(_VECTOR, None))  # type: ignore[no-untyped-call]
        with cgutils.for_range(builder, arguments[4], start=arguments[3], intp=_INT64) as loop:
            code = elements.load(0, builder.zext(elements.value(1, loop.index), _INT64))
            limit = _spread(builder, elements.value(2, loop.index), _VECTOR)
            is_right = builder.sext(_is_above(builder, code, limit), _VECTOR)
            doubled = builder.add(builder.load(number), builder.load(number))
            # Right is -1 in all bits.
            builder.store(builder.sub(doubled, is_right), number)
        builder.store(builder.load(number), elements.lanes(5, _INT64(0)), align=1)
        return context.get_dummy_value()

    return types.void(codes, rows, limits, types.int64, types.int64, leaves), generate


@intrinsic
def _count_below(typingctx: Any, marks: Any, index: Any, x: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector, bits = ir.VectorType(ir.FloatType(), PART), ir.IntType(PART)
        place = element_pointer(context, builder, marks, *arguments[:2])
        loaded = builder.load(builder.bitcast(place, vector.as_pointer()), align=4)
        below = builder.bitcast(builder.fcmp_ordered("<", loaded, _spread(builder, arguments[2], vector)), bits)
        return builder.zext(builder.ctpop(below), _INT64)

    return types.uint64(marks, types.uint64, types.float32), generate


@intrinsic
def _count_in_lanes(typingctx: Any, values: Any, marks: Any, first: Any, last: Any, codes: Any, at: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        elements = _Elements(context, builder, signature, arguments)
        floats, counts = ir.VectorType(ir.FloatType(), LANES), ir.VectorType(_INT32, LANES)
        x = builder.load(builder.bitcast(elements.place(0, _INT64(0)), floats.as_pointer()), align=4)
        count = cgutils.alloca_once_value(builder, ir.Constant(counts, [-128] * LANES))  # type: ignore[no-untyped-call]
        with cgutils.for_range(builder, arguments[3], start=arguments[2], intp=_INT64) as loop:
            mark = _spread(builder, elements.value(1, loop.index), floats)
            below = builder.sext(builder.fcmp_ordered("<", mark, x), counts)
            builder.store(builder.sub(builder.load(count), below), count)
        builder.store(builder.trunc(builder.load(count), _VECTOR), elements.lanes(4, arguments[5]), align=1)
        return context.get_dummy_value()

    return types.void(values, marks, types.int64, types.int64, codes, types.uint64), generate


@intrinsic
def _copy_with_missing(typingctx: Any, values: Any, codes: Any, row: Any, left: Any, left_row: Any, both: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        elements = _Elements(context, builder, signature, arguments)
        floats = ir.VectorType(ir.FloatType(), LANES)
        code = elements.load(1, arguments[2])
        with builder.if_then(arguments[5]):
            builder.store(code, elements.lanes(3, arguments[4]), align=1)
        x = builder.load(builder.bitcast(elements.place(0, _INT64(0)), floats.as_pointer()), align=4)
        highest = ir.Constant(_VECTOR, [127] * LANES)
        code = builder.select(builder.fcmp_unordered("uno", x, x), highest, code)
        builder.store(code, elements.lanes(1, arguments[2]), align=1)
        return context.get_dummy_value()

    return types.void(values, codes, types.uint64, left, types.uint64, types.boolean), generate


clear_above: Callable[[AnyArray, AnyArray, int, AnyArray, AnyArray, AnyArray, int, int], None] = _clearing(_is_above)
"""Clear bits where the code is above the step's limit."""
clear_marked: Callable[[AnyArray, AnyArray, int, AnyArray, AnyArray, AnyArray, int, int], None] = _clearing(_has_bit)
"""Clear bits where the code has the step's bit."""
first_leaves: Callable[[AnyArray, Any, Any, AnyArray], None] = _first_leaves  # type: ignore[assignment]
"""The lowest bit that is still set in a tree's bytes, in every lane."""
answered_leaves: Callable[[AnyArray, AnyArray, AnyArray, Any, Any, AnyArray], None] = _answered_leaves  # type: ignore[assignment]
"""The number whose bits are the answers to the questions from first to last, the first answer the highest bit."""
count_below: Callable[[AnyArray, Any, Any], Any] = _count_below  # type: ignore[assignment]
"""How many of eight numbers in ascending order are below x; none if x is NaN."""
count_in_lanes: Callable[[Features, AnyArray, Any, Any, AnyArray, Any], None] = _count_in_lanes  # type: ignore[assignment]
"""Write how many marks, from first to last, are below the value in every lane, minus 128."""
copy_with_missing: Callable[[Features, AnyArray, Any, AnyArray, Any, Any], None] = _copy_with_missing  # type: ignore[assignment]
"""Copy a row of codes, if both are needed; then make the codes of missing values in the first the highest."""
