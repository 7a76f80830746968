"""The order in which the tiles of a matrix product are computed, and what it costs in L2."""
