"""Sockets in the network namespaces of a net's hosts, all held by one process.

A socket stays in the namespace in which it was made, wherever the process goes afterwards. Every wait has a limit
so that nothing hangs; no limit says anything about speed.
"""
import ctypes
import errno
import hashlib
import json
import os
import socket
import subprocess
import sys
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)
home = os.open("/proc/self/ns/net", os.O_RDONLY)
patience = 60


def sluice(*words):
    return subprocess.run([os.environ["SLUICE"], "lab", *words], check=True, stdout=subprocess.PIPE).stdout


def fault(*words):
    sluice("fault", "net", *words)


def status():
    members = json.loads(sluice("status", "--json"))["members"]
    return next(member for member in members if member["name"] == "net")


class Host:
    def __init__(self, name, address):
        self.name, self.address = name, address
        self.space = os.open("/run/netns/" + name, os.O_RDONLY)

    def socket(self, kind=socket.SOCK_STREAM):
        assert libc.setns(self.space, 0) == 0
        try:
            out = socket.socket(socket.AF_INET, kind)
        finally:
            assert libc.setns(home, 0) == 0
        out.settimeout(patience)
        return out

    def listen(self, port):
        out = self.socket()
        out.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        out.bind((self.address, port))
        out.listen()
        return out


def hosts():
    return [Host(host["host"], host["address"]) for host in json.load(open("net.json"))["hosts"]]


def connect(client, listener):
    out = client.socket()
    out.connect(listener.getsockname())
    other, _ = listener.accept()
    other.settimeout(patience)
    return out, other


def read_all(sock, size):
    out = bytearray()
    while len(out) < size:
        part = sock.recv(1 << 20)
        assert part, f"end of data after {len(out)} of {size} bytes"
        out += part
    return bytes(out)


def send_through(one, other, data):
    """Sends while it receives; what came at the other end."""
    sender = threading.Thread(target=one.sendall, args=(data,))
    sender.start()
    out = read_all(other, len(data))
    sender.join()
    return out


def digest(data):
    return hashlib.sha256(data).hexdigest()


def expect_reset(sock):
    """After what had come through before."""
    try:
        while sock.recv(1 << 16):
            pass
    except ConnectionResetError:
        return
    raise AssertionError("an orderly end instead of ECONNRESET")


def expect_silence(sock, seconds):
    sock.settimeout(seconds)
    try:
        got = sock.recv(100)
    except TimeoutError:
        sock.settimeout(patience)
        return
    raise AssertionError(f"{got!r} instead of nothing")
