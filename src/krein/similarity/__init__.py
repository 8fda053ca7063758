"""A similarity in every form, its spectrum, and what a spectrum method makes of it.

Dense, sparse, of features or of landmarks (`matrix`, `sparse`, `low_rank`, `tiles`),
the treated kernel with the map back to raw coefficients (`treated`), and how much
memory that takes. Methods are records in `krein.methods`. What is trained on a kernel
is in `krein.machines`; similarity functions on items are in `krein.kernels`.
"""
