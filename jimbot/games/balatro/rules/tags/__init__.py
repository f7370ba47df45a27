"""Tags: the two of an ante and those held in `held`, what they do at blind selection in `firing`."""
