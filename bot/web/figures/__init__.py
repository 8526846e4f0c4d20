"""Figures as shapes: what a template puts into an SVG."""
