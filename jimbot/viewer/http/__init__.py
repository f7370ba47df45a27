"""The page's server: what is answered, one module per page, and how it is started (`server`)."""

from jimbot.errors import MissingExtraError

try:
    import fastapi  # noqa: F401
    import sse_starlette  # noqa: F401
    import uvicorn  # noqa: F401
except ModuleNotFoundError as problem:
    raise MissingExtraError("The page", "web") from problem
