"""treering inside agent frameworks. Each module needs its framework, an extra of the same name."""
