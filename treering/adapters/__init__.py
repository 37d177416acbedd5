"""treering inside agent frameworks. Each module needs the extra of its framework's name."""
