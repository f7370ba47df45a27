"""What the commands share: options described once, help, completion, sentences and exit codes for people."""
