"""Generates documents from the code, and collects the files of the documentation site."""
