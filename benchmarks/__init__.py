"""Speed beside peers, in one run: `python -m benchmarks [NAME ...]`.

One file an operation. Each gives rows of the same shape: what it is, the bytes that must move at
least, and callables by name, ours first. The runner times them in turn, so that a machine whose
speed drifts slows all alike, and prints medians of five and ratios to ours.
"""
