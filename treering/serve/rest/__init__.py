"""The REST interface under ``/v1``: one module a part, one function a route."""
