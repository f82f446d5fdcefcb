"""Arithmetic in eight lanes: vectorized loops with sums that have the same bits everywhere.

A compiler may not reorder a sum of floats, so a plain loop adds one number at a time; if it is allowed to reorder, the
order depends on the CPU. Here the order is written out: a kernel computes with eight numbers at once, `Lanes`, and adds
up the eight partial sums at the end, by halves. Lanes are one LLVM vector; a CPU takes as many instructions for it as
its own vectors need.

    values   0 1 2 3 4 5 6 7 | 8 9 …          sums   0 + 8 + …, 1 + 9 + …, …, 7 + 15 + …

In kernels, lanes have the operators + - * / and abs; a float is the same in all lanes.
"""

import operator
from collections.abc import Callable
from typing import Any, final

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.imputils import lower_builtin
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, models, register_model

from swaprank.arrays import AnyArray, Floats
from swaprank.kernels import kernel

WIDTH = np.uint64(8)
"""The number of lanes. Indices are unsigned, because one that might be negative costs a test."""


@final
class Lanes(types.Type):
    """Numba's type of eight numbers."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(name=f"Lanes({dtype})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, lanes: Lanes) -> None:
        super().__init__(dmm, lanes, _vector(lanes.dtype))


def _vector(dtype: Any, width: int = int(WIDTH)) -> ir.VectorType:
    kinds = {types.float32: ir.FloatType(), types.float64: ir.DoubleType()}
    return ir.VectorType(kinds.get(dtype, ir.IntType(32)), width)


def _pick(builder: Any, lanes: Any, places: list[int]) -> Any:
    return builder.shuffle_vector(lanes, lanes, ir.Constant(_vector(types.int32, len(places)), places))


def _converted(context: Any, builder: Any, value: Any, from_type: Any, to: Lanes) -> Any:
    """Lanes of lower precision, or a number, as these lanes."""
    if isinstance(from_type, Lanes):
        return value if from_type == to else builder.fpext(value, _vector(to.dtype))
    number = context.cast(builder, value, from_type, to.dtype)
    one = builder.insert_element(ir.Constant(_vector(to.dtype), ir.Undefined), number, ir.IntType(32)(0))
    return _pick(builder, one, [0] * int(WIDTH))


def _define_operator(function: Any, instruction: str) -> None:
    """Make lanes known to an operator of Python."""

    @infer_global(function)
    class _Typing(AbstractTemplate):
        def generic(self, args: Any, kws: Any) -> Any:
            lanes = [each for each in args if isinstance(each, Lanes)]
            if len(args) == 2 and lanes and all(isinstance(each, Lanes | types.Number) for each in args):
                # A number takes the precision of the lanes.
                return signature(max(lanes, key=lambda each: each.dtype.bitwidth), *args)
            return None

    for left, right in ((Lanes, Lanes), (Lanes, types.Number), (types.Number, Lanes)):

        @lower_builtin(function, left, right)
        def _lower(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
            both = [
                _converted(context, builder, value, each, sig.return_type)
                for value, each in zip(arguments, sig.args, strict=True)
            ]
            return getattr(builder, instruction)(*both)


for _function, _instruction in (
    (operator.add, "fadd"), (operator.iadd, "fadd"), (operator.sub, "fsub"), (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):  # fmt: skip
    _define_operator(_function, _instruction)


@infer_global(abs)
class _TypingOfAbs(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        return signature(args[0], args[0]) if isinstance(args[0], Lanes) else None


@lower_builtin(abs, Lanes)
def _lower_abs(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
    vector, bits = _vector(sig.return_type.dtype), sig.return_type.dtype.bitwidth
    name = f"llvm.fabs.v{int(WIDTH)}f{bits}"
    function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(vector, [vector]), name)
    return builder.call(function, arguments)


def element_pointer(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    """The address of an array's element at a flat index, for intrinsics, which write LLVM code themselves."""
    return builder.gep(context.make_array(array_type)(context, builder, array).data, [index])


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    if array_type.layout != "C":
        raise TypeError(f"lanes take contiguous arrays; found {array_type}")
    pointer = element_pointer(context, builder, array_type, array, index)
    return builder.bitcast(pointer, _vector(array_type.dtype).as_pointer())


@intrinsic
def _load(typingctx: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        loaded = builder.load(_pointer(context, builder, array, *arguments))
        loaded.align = array.dtype.bitwidth // 8
        return loaded

    return Lanes(array.dtype)(array, index), generate


@intrinsic
def _store(typingctx: Any, array: Any, index: Any, lanes: Any) -> Any:
    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        stored = builder.store(arguments[2], _pointer(context, builder, array, *arguments[:2]))
        stored.align = array.dtype.bitwidth // 8
        return context.get_dummy_value()

    return types.void(array, index, lanes), generate


@intrinsic
def _spread(typingctx: Any, number: Any) -> Any:
    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        return _converted(context, builder, arguments[0], number, sig.return_type)

    return Lanes(number)(number), generate


@intrinsic
def _where_positive(typingctx: Any, tested: Any, value: Any, otherwise: Any) -> Any:
    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        is_positive = builder.fcmp_ordered(">", arguments[0], ir.Constant(_vector(tested.dtype), [0.0] * int(WIDTH)))
        both = [
            _converted(context, builder, *each, sig.return_type)
            for each in zip(arguments[1:], sig.args[1:], strict=True)
        ]
        return builder.select(is_positive, *both)

    return tested(tested, value, otherwise), generate


@intrinsic
def _sum_lanes(typingctx: Any, lanes: Any) -> Any:
    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        (total,), half = arguments, int(WIDTH) // 2
        while half:
            low, high = (_pick(builder, total, list(range(first, first + half))) for first in (0, half))
            total, half = builder.fadd(low, high), half // 2
        return builder.extract_element(total, ir.IntType(32)(0))

    return lanes.dtype(lanes), generate


load: Callable[[AnyArray, Any], Any] = _load  # type: ignore[assignment]
"""x[i], …, x[i + 7] of a contiguous array; `i` is a flat index."""
store: Callable[[AnyArray, Any, Any], None] = _store  # type: ignore[assignment]
"""Write x[i], …, x[i + 7]."""
spread: Callable[[Any], Any] = _spread  # type: ignore[assignment]
"""A number in all lanes."""
where_positive: Callable[[Any, Any, Any], Any] = _where_positive  # type: ignore[assignment]
"""The second argument in the lanes where the first is positive, and the third in the others."""
sum_lanes: Callable[[Any], float] = _sum_lanes  # type: ignore[assignment]
"""The sum of all lanes."""


@kernel
def sum_of(values: Floats, start: Any, stop: Any) -> float:
    """values[start] + … + values[stop - 1].

    >>> import numpy as np
    >>> from swaprank.lanes import sum_of
    >>> sum_of(np.arange(10.0), 0, 10)
    45.0
    """
    sums = spread(values.dtype.type(0))
    i, end = np.uint64(start), np.uint64(stop)
    while i + WIDTH <= end:
        sums += load(values, i)
        i += WIDTH
    total = sum_lanes(sums)
    while i < end:
        total += values[i]
        i += np.uint64(1)
    return total


@kernel
def dot_range(x: AnyArray, y: AnyArray, start: Any, stop: Any) -> float:
    """x[start] y[start] + … + x[stop - 1] y[stop - 1], in the precision of the products."""
    sums = spread(x.dtype.type(0) * y.dtype.type(0))
    i, end = np.uint64(start), np.uint64(stop)
    while i + WIDTH <= end:
        sums += load(x, i) * load(y, i)
        i += WIDTH
    total = sum_lanes(sums)
    while i < end:
        total += x[i] * y[i]
        i += np.uint64(1)
    return total


@kernel
def dot(x: AnyArray, y: AnyArray) -> float:
    """The inner product of two vectors, in the precision of the products.

    >>> import numpy as np
    >>> from swaprank.lanes import dot
    >>> dot(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    11.0
    """
    return dot_range(x, y, 0, len(x))
