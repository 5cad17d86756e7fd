"""Instructions that exclude each other: whom a model obeys, and for how many turns."""
