"""The JSON API's description (OpenAPI 3.1), and the check of query parameters against it."""
