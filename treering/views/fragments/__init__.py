"""The fragments view: entries cut into the pieces that are embedded, scored and cited."""
