"""Golden queries: the ten best hits of some 300 questions, which refactorings must reproduce."""
