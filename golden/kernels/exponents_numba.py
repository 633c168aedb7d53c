from golden.kernels.exponents_numpy import expand_exponents, pack_exponents

__all__ = ["expand_exponents", "pack_exponents"]
