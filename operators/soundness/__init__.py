"""What `check` looks at, one kind of value a file. Nothing here raises on what it finds."""
