"""Code written by a language model in rounds (CodeMEM, figure 2)."""
