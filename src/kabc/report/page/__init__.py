"""The parts of the page, one file for each section."""
