"""The page in the browser: `jimbot ui`.

What is shown is gathered by plain modules that know nothing of HTTP (`run_index`, `curves`, `tables`); `http/` puts
them behind addresses and says who may ask. `static/` is the page itself, built from `web/` at the top of the repository
(`make web`) and shipped, so that nobody needs a build to look at it.
"""
