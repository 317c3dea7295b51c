"""A server and a client of Python's ssl module, in one process, over TLS 1.2 and 1.3."""

import hashlib
import socket
import ssl
import sys
import threading

certificate, key = sys.argv[1:]
DATA = hashlib.shake_128(b"data").digest(8 << 20)


def serve(listener, context):
    raw, _ = listener.accept()
    with context.wrap_socket(raw, server_side=True) as connection:
        got = bytearray()
        while len(got) < len(DATA):
            got += connection.recv(1 << 16)
        connection.sendall(got[::-1])
        connection.recv(1)


for version, cipher in [
    (ssl.TLSVersion.TLSv1_3, None),
    (ssl.TLSVersion.TLSv1_2, "ECDHE-RSA-AES256-GCM-SHA384"),
    (ssl.TLSVersion.TLSv1_2, "ECDHE-RSA-CHACHA20-POLY1305"),
    (ssl.TLSVersion.TLSv1_2, "ECDHE-RSA-AES128-SHA"),
]:
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate, key)
    client = ssl.create_default_context(cafile=certificate)
    for context in (server, client):
        context.minimum_version = context.maximum_version = version
        if cipher:
            context.set_ciphers(cipher + ":@SECLEVEL=0")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener, server))
        thread.start()
        with socket.create_connection(listener.getsockname()) as raw:
            with client.wrap_socket(raw, server_hostname="127.0.0.1") as connection:
                connection.sendall(DATA)
                got = bytearray()
                while len(got) < len(DATA):
                    got += connection.recv(1 << 16)
                assert got == DATA[::-1]
                print(connection.version(), connection.cipher()[0], flush=True)
                connection.sendall(b"x")
        thread.join()
