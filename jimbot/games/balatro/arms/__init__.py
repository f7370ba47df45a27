"""The same starts played with other jokers, compiled: what `synergy` measures with.

It calls the rules and the rules do not call it, so it compiles by itself (`kernels.APART`).
"""
