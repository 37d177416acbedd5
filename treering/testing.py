"""Stand-ins for tests of programs that use treering."""

from treering.llm.scripted import Request
from treering.llm.scripted import ScriptedLLM as FakeLLM

__all__ = ["FakeLLM", "Request"]
