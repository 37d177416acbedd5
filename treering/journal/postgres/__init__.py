"""The PostgreSQL backend: many processes and machines share one memory."""
