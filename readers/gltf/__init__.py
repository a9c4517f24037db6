"""glTF 2: scenes of meshes, as JSON with buffers beside it or as one binary file (GLB).

The scene graph is walked and every node's mesh is placed: positions by the node's world matrix,
normals by its inverse transpose. Each node that has a mesh becomes a cell region of kind "node",
each material one of kind "material"; names and extras of meshes and of
the scene are attributes. Attributes of vertices become point fields under their
names. Lengths are metres and y points up, as the specification has it.

Source: Khronos Group, glTF 2.0 Specification (2.0.1); sections 3.5 (scenes), 3.6 (buffers and
accessors), 3.7 (geometry), 4 (GLB).
"""

from meshkit.readers.gltf.reading import read

__all__ = ["read"]
