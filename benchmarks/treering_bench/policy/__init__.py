"""Ways to pick passages: treering's own and the baselines."""
