"""Integrals, averages, fluxes and forces."""
