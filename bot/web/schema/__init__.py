"""What the JSON answers are made of: an OpenAPI document and its shapes."""
