"""Files of the field: matrices, items, labels, hits, models, and data sets by name.

What a user's file can be, and what goes into one, is here; the stores of long
computations (`krein.store`) are not. `readers.FORMATS` is the table of formats: a new
one is a reader and a line there.
"""
