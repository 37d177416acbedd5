"""Measuring: quality, cost and speed, through the public interface."""
