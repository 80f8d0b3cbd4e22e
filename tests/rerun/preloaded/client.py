"""Asks one of the interpreters to run a program, and ends as the program ends."""

import json
import os
import re
import socket
import sys
import time

run = int(re.findall(r"/run-(\d+)/", os.environ["TORCHREPRO_RERUN"])[-1])  # a folder above may be called so too
name = "fixed" if os.environ.get("PYTHONHASHSEED") == "0" else ("even", "odd")[run % 2]
asked = json.dumps({"argv": sys.argv[2:], "folder": os.getcwd(), "environment": dict(os.environ)}).encode()
with socket.socket(socket.AF_UNIX) as connection:
    for _ in range(600):
        try:
            connection.connect(os.path.join(sys.argv[1], name))
            break
        except (FileNotFoundError, ConnectionRefusedError):
            time.sleep(0.2)
    socket.send_fds(connection, [len(asked).to_bytes(4, "big")], [1, 2])
    connection.sendall(asked)
    status = int(connection.makefile().readline() or "255")
sys.exit(status if status >= 0 else 128 - status)
