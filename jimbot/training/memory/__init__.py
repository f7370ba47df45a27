"""Training inside a memory limit: how it is split (`budget`), watched and kept to step by step (`relief`)."""
