"""The code graph (FragRel, appendix A): the candidates of each call, and best paths as an
operator."""
