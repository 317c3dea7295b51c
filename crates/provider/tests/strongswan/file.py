"""Sends a file over TCP: `serve ADDRESS FILE`, or takes it: `fetch ADDRESS LOCAL-ADDRESS FILE`, and prints the seconds."""

import socket
import sys
import time

PORT = 7000
what, address, *rest = sys.argv[1:]
if what == "serve":
    with socket.create_server((address, PORT)) as listener, open(rest[0], "rb") as file:
        connection, _ = listener.accept()
        with connection:
            connection.sendfile(file)
else:
    local, path = rest
    for attempt in range(100):
        try:
            connection = socket.create_connection((address, PORT), timeout=30, source_address=(local, 0))
            break
        except ConnectionRefusedError:
            time.sleep(0.05)
    else:
        sys.exit("nobody serves")
    with connection, open(path, "wb") as file:
        began = time.monotonic()
        while part := connection.recv(1 << 20):
            file.write(part)
        print(time.monotonic() - began)
