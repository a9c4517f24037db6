"""VTKHDF (.vtkhdf, .hdf): VTK's data sets in HDF5, with times, pieces and blocks.

Source: VTK File Formats (VTKHDF 1.0 to 2.8), and what vtkHDFReader and vtkHDFWriter of VTK 9.7 do.
"""

from meshkit.readers.vtkhdf.reading import read, series
from meshkit.readers.vtkhdf.writing import write, write_series

__all__ = ["read", "series", "write", "write_series"]
