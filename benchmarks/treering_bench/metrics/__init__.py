"""What is measured: evidence found, and answers given."""
