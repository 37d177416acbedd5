"""How passages are picked: treering's ways and the baselines they are measured against."""
