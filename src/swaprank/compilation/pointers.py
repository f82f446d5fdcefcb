"""What intrinsics, functions that write LLVM code themselves, have in common."""

from typing import Any


def element_pointer(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    """The address of an array's element at a flat index."""
    return builder.gep(context.make_array(array_type)(context, builder, array).data, [index])
