"""The repositories, and what one of them shows first: its pull requests, and how main stands."""
