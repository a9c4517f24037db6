"""The store: one sample in one directory of Zarr v3 arrays, whole or not at all.

`docs/store.md` specifies what lies in it. `mk.read` and `mk.write` are the doors for whole
meshes and series; `mk.open_store` takes parts without touching the rest.
"""
