"""Two names compared, every case in every variant at one name, and a comparison as a file."""
