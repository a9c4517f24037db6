"""What the server of the worker processes imports once, so that no worker has to.

It is what every command needs; the modules of the formats at hand are imported after it (see
`sight.modules_for`). Importing this starts no thread: a process that has some cannot be forked
safely.
"""

import os
from importlib import import_module
from typing import Final

MODULES: Final = (
    *("numpy", "tensordict", "torch"),
    *("blake3", "google_crc32c", "numcodecs.blosc"),
    *("meshkit.cli", "meshkit.cli.conversion", "meshkit.operators", "meshkit.readers.reading"),
)

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # numpy's would start with it
for _name in MODULES:
    import_module(_name)
# Made in every process that compresses, unless it inherits it; one that is killed would leak it.
import_module("numcodecs.blosc").get_mutex()
