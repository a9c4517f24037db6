"""What the server of the worker processes imports once, so that no worker has to.

Importing this starts no thread: a process that has some cannot be forked safely.
"""

import os
from contextlib import suppress
from importlib import import_module
from typing import Final

MODULES: Final = (
    *("numpy", "tensordict", "torch"),
    *("blake3", "google_crc32c", "numcodecs.blosc"),
    *("vtkmodules.vtkIOXML", "vtkmodules.util.numpy_support"),
    *(
        "meshkit.cli",
        "meshkit.cli.conversion",
        "meshkit.cli.subsets",
        "meshkit.cli.units",
        "meshkit.operators",
    ),
)

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # numpy's would start with it
for _name in MODULES:
    import_module(_name)
# Made in every process that compresses, unless it inherits it; one that is killed would leak it.
import_module("numcodecs.blosc").get_mutex()
for _row in import_module("meshkit.readers.formats").FORMATS:
    with suppress(ImportError):  # whoever needs it says what is missing
        _row.load_reader()
