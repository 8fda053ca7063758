"""Measured figures: ``make bench`` runs every module of this package."""
