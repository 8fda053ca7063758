"""A similarity in every form, its spectrum, and what a fix makes of it.

Dense, sparse, of features or of landmarks (`matrix`, `sparse`, `low_rank`, `tiles`),
and how much memory that takes. What becomes of the spectrum is in `krein.spectrum`.
What is trained on a kernel is in `krein.machines`; similarity functions on items are
in `krein.kernels`.
"""
