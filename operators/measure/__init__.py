"""How long, large and where cells and faces are."""
