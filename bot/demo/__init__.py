"""The whole product on one machine, without an account."""
