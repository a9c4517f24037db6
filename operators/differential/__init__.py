"""Gradients, divergences, curls and Laplacians, prepared once and applied to many fields."""
