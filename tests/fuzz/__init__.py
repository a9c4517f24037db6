"""Damage to small files of every format, in processes of their own: `make fuzz`."""
