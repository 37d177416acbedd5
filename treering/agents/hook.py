EVENTS = ("session-start", "prompt", "turn", "compact", "session-end")
