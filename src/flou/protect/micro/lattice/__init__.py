"""The lattice of generalisations: every choice of one level for each key, and the search for the best of them."""
