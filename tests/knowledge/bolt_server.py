"""A real Bolt server for the tests, run by the Python of a venv that has `arcadedb-embedded`: PORT FOLDER.

Says `ready` on standard output and serves until it is killed or its standard input ends.
"""

from __future__ import annotations

import sys


def main() -> None:
    import arcadedb_embedded  # ty: ignore[import-not-found]

    port, folder = sys.argv[1:]
    config = {
        "server.plugins": "Bolt:com.arcadedb.bolt.BoltProtocolPlugin", "bolt.port": port, "bolt.host": "127.0.0.1",
        "server.httpIncomingPort": "0", "server.httpIncomingHost": "127.0.0.1",
    }  # fmt: skip
    with arcadedb_embedded.create_server(folder, root_password="tests-only", config=config) as server:
        server.create_database("cards").close()
        print("ready", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
