"""Each preset as a whole, from the command line, against a small system of the test's own."""
