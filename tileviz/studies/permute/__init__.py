"""Moving a tile between two layouts."""
