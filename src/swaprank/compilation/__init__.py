"""Compilation of kernels: the CPU level, the Numba target, and the cache."""
