"""Stand-ins for tests of programs that use treering."""

from treering.llm.scripted import FakeLLM, Request

__all__ = ["FakeLLM", "Request"]
