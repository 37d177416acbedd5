"""The code graph (FragRel, appendix A): what each call can mean, and best paths as an operator."""
