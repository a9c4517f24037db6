"""Split a mesh over ranks: who owns what, who must see what, and how it is exchanged."""
