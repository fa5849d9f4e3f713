"""One request to a device or to the file that a device is, past the page cache:

disk.py FILE write OFFSET LENGTH LETTER   -> the number of bytes
disk.py FILE read OFFSET LENGTH           -> runs of equal bytes: "A*512 .*3584", where "." is a zero
disk.py FILE flush                        -> "flushed"
disk.py FILE zero OFFSET LENGTH           -> "zeroed" (discards, by BLKDISCARD; FILE is a block device)
disk.py FILE random SEED UNIT             -> "same": writes and reads at random multiples of UNIT and compares

or the name of the error, such as EIO.
"""
import errno
import fcntl
import itertools
import mmap
import os
import random
import struct
import sys

BLKDISCARD = 0x1277


def aligned(data):
    out = mmap.mmap(-1, max(len(data), 1))
    out.write(data)
    return out


def write(fd, offset, data):
    buffer = aligned(data)
    return os.pwritev(fd, [memoryview(buffer)[: len(data)]], offset)


def read(fd, offset, length):
    buffer = mmap.mmap(-1, length)
    got = os.preadv(fd, [buffer], offset)
    return buffer[:got]


def runs(data):
    name = lambda byte: "." if byte == 0 else chr(byte)
    return " ".join(f"{name(byte)}*{len(list(group))}" for byte, group in itertools.groupby(data))


def compare(fd, seed, unit):
    dice = random.Random(seed)
    size = os.lseek(fd, 0, os.SEEK_END)
    shadow = bytearray(read_all(fd, size))
    for _ in range(150):
        length = unit * dice.randint(1, max(1, dice.choice((16, 64, 2048)) * 512 // unit))
        length = min(length, size)
        offset = unit * dice.randint(0, (size - length) // unit)
        if dice.random() < 0.6:
            data = dice.randbytes(length)
            shadow[offset : offset + length] = data
            if write(fd, offset, data) != length:
                return f"short write of {length} at {offset}"
        elif read(fd, offset, length) != shadow[offset : offset + length]:
            return f"differs: {length} at {offset}"
    return "same" if read_all(fd, size) == shadow else "differs in the end"


def read_all(fd, size):
    piece = 1 << 20
    return b"".join(read(fd, at, min(piece, size - at)) for at in range(0, size, piece))


def main(path, command, *operands):
    fd = os.open(path, (os.O_RDONLY if command == "read" else os.O_RDWR) | os.O_DIRECT)
    numbers = [int(each) for each in operands[:2]]
    if command == "write":
        return write(fd, numbers[0], operands[2].encode() * numbers[1])
    if command == "read":
        return runs(read(fd, *numbers))
    if command == "flush":
        os.fsync(fd)
        return "flushed"
    if command == "zero":
        fcntl.ioctl(fd, BLKDISCARD, struct.pack("QQ", *numbers))
        return "zeroed"
    return compare(fd, *numbers)


try:
    print(main(*sys.argv[1:]))
except OSError as error:
    print(errno.errorcode[error.errno])
