"""How kernels become machine code: the CPU level, the Numba target, and the cache."""
