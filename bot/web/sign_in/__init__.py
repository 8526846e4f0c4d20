"""Who comes in: signing in with GitHub, sessions, the reception in front of every page."""
