"""What it means: facts in, one honest verdict out."""
