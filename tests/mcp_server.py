"""A real MCP server in a process of its own: `python mcp_server.py` prints its port."""

import asyncio
import os
import socket
from typing import Any

import uvicorn
from mcp.server.fastmcp import Context, FastMCP, Image

server = FastMCP("toolbox", log_level="CRITICAL")
# The smallest GIF there is.
PICTURE = b"GIF89a\x01\x00\x01\x00\x00\x00\x00;"


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def repeat(text: str) -> str:
    """Answer with another word of the same kind."""
    return text.replace("argument", "result")


@server.tool()
def refuse(reason: str) -> str:
    """Fail, as tools of a server fail: by an answer."""
    raise ValueError(reason)


@server.tool()
async def wait(seconds: float) -> str:
    """Answer late."""
    await asyncio.sleep(seconds)
    return "late"


@server.tool()
def fill(size: int) -> str:
    """Answer much."""
    return "x" * size


@server.tool()
def picture() -> Image:
    """Answer a picture."""
    return Image(data=PICTURE, format="gif")


@server.tool()
def die() -> str:
    """Take the whole server along."""
    os._exit(1)


@server.tool()
def carried(ctx: Context) -> dict[str, Any]:
    """Answer what the request carried in `_meta`."""
    meta = ctx.request_context.meta
    return {} if meta is None else meta.model_dump(exclude_none=True)


@server.prompt()
def greeting(name: str) -> str:
    """Greet somebody."""
    return f"Greet {name}."


@server.resource("shop://hours")
def hours() -> str:
    """When it is open."""
    return "9 to 5"


def main() -> None:
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    print(listening.getsockname()[1], flush=True)  # noqa: T201  # to whoever started it
    app = server.streamable_http_app()
    config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
