"""Which points, edges, faces and cells belong together."""
