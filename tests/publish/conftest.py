"""The stand-in GitHub with one repository, as the tests of the client use it."""

from tests.github.conftest import anyio_backend, hub

__all__ = ["anyio_backend", "hub"]
