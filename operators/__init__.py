"""Functions from a mesh (and fields) to tensors or a new mesh: no state, no input or output."""
