"""Stand-ins for tests of programs that use treering."""

from treering.llm.scripted import Request, ScriptedLLM

__all__ = ["Request", "ScriptedLLM"]
