"""Folds, scores, searches and calibration: how settings are chosen by data."""
