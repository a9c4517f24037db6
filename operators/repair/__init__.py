"""Cells put right: what a source has inside out or inconsistent."""
