"""Relations: linear operators on score vectors, one file a kind."""
