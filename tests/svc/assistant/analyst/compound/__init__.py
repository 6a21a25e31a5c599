"""Compound questions, with what a right answer says of each clause."""
