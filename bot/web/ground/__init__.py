"""What every room of the pages stands on: who may see what, addresses, answers, legible words."""
