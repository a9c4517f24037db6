"""What the server of the worker processes imports once, so that no worker has to.

Importing must start no thread: a process with threads cannot be forked safely.
"""

import numpy
import tensordict
import torch

import meshkit.cli
import meshkit.cli.conversion
import meshkit.readers.formats

__all__ = ["meshkit", "numpy", "tensordict", "torch"]
