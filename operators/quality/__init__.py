"""How good cells are for finite volumes and finite elements."""
