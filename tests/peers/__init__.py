"""Programs and data that no one here wrote, started or read by the tests."""
