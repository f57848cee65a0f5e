"""`kabc worker`: draws for a study. Its body imports what it needs, so help and error messages appear at once."""
