"""The spectrum of a similarity: its decomposition, the fixes, the fixed kernel."""
