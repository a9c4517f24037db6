"""Pictures of meshes, drawn off screen: what is coloured, cut, seen and lettered, and where.

A picture is made in steps that know nothing of one another: `shades` turns fields into numbers,
`region_shades` regions into numbers, `bodies` a mesh into surfaces, lines and dots that carry
them, `cut` cuts these, `drawing` draws them in a window that nobody sees, and `sheet` puts the
drawings, the legend and the caption on one sheet.
"""
