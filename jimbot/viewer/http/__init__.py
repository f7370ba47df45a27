"""The page's server: what is answered, one module per page, and how it is started (`server`)."""
