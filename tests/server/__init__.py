"""The HTTP server: connections within limits, and the process of the pages."""
