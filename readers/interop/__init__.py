"""Meshes to and from the objects of other libraries, each imported only when called."""
