"""What a person sees: words, names, the table in the terminal. Changing it never compiles anything anew."""
