"""The tests' own writers of training logs: what happened in a run goes in, the text of its log comes out.

The same arguments give the same text.
"""
