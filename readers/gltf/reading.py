"""glTF files in: what extensions are judged, the scene walked, the rest counted."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from meshkit.mesh import Mesh
from meshkit.readers.gltf.assembly import assembled
from meshkit.readers.gltf.document import Document, opened
from meshkit.readers.gltf.scene import Scene
from meshkit.report import Ledger

_COMPRESSED: Final = {
    "KHR_draco_mesh_compression": "Draco",
    "EXT_meshopt_compression": "meshopt",
    "KHR_meshopt_compression": "meshopt",
}


# Extensions of materials, lights and names; geometry is whole without them.
_HARMLESS: Final = (
    *("KHR_materials_", "KHR_texture_", "KHR_lights_", "KHR_xmp", "EXT_texture_", "MSFT_texture_"),
    *("ADOBE_materials_", "KHR_mesh_quantization", "EXT_lights_", "KHR_animation_pointer"),
    *("EXT_structural_metadata", "EXT_mesh_features", "KHR_node_visibility"),
)


def read(path: Path, ledger: Ledger) -> Mesh:
    """Read the default scene; without scenes, every node that no other has as a child.

    A mesh that several nodes instance comes once a node. Strips, fans and loops become triangles
    and lines. An attribute that some primitives lack is filled with NaN (integers: 0) there and
    counted. Skins, animations, cameras and morph targets are dropped and counted.

    Raises:
        ReadError: the file breaks the specification, or compresses its geometry; the message
            names the part ("accessors[3]").
    """
    document = Document(path, *opened(path))
    _judge_extensions(document, ledger)
    scene = Scene(document, ledger)
    scene.walk()
    _count_rest(scene, ledger)
    return assembled(scene)


def _judge_extensions(document: Document, ledger: Ledger) -> None:
    """Refuse what the geometry needs and we lack; count what is left out."""
    used = [x for x in document.all("extensionsUsed") if isinstance(x, str)]
    needed = [x for x in document.all("extensionsRequired") if isinstance(x, str)]
    for name in needed:
        if name in _COMPRESSED:
            raise document.fail(
                "extensionsRequired",
                f"its geometry is compressed with {_COMPRESSED[name]} ({name})",
                "uncompressed geometry",
            )
        if not name.startswith(_HARMLESS):
            raise document.fail("extensionsRequired", f"needs {name[:80]}", "glTF 2.0 itself")
    for name in used:
        if not name.startswith(_HARMLESS):
            ledger.dropped("extension", name, 1, "the file says that it can do without")


def _count_rest(scene: Scene, ledger: Ledger) -> None:
    document = scene.document
    for name, used in (("meshes", scene.placed), ("materials", scene.materials.keys())):
        count = len(document.all(name)) - len(used)
        if count:
            ledger.dropped(name, "", count, "nothing in the scene uses them")
    for name in ("skins", "animations", "cameras"):
        count = len(document.all(name))
        if count:
            ledger.dropped(name, "", count, "meshkit keeps the mesh at rest")
    count = len(document.all("textures")) + len(document.all("images"))
    if count:
        ledger.dropped("textures", "", count, "pictures are not read")
