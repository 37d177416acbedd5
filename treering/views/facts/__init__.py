"""Facts that change: a superseded statement stays in the journal and is shown as superseded."""
