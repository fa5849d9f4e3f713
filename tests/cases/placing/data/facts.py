"""Prints what is said of a file or of everything in a folder, a line each, and a checksum of the bytes."""
import hashlib
import os
import stat
import sys


def holes(path, size):
    """Bytes of data, in blocks of 64 KiB: file systems differ in finer ones."""
    with open(path, "rb") as file:
        blocks, at = set(), 0
        while at < size:
            try:
                data = os.lseek(file.fileno(), at, os.SEEK_DATA)
            except OSError:
                break
            at = os.lseek(file.fileno(), data, os.SEEK_HOLE)
            blocks |= set(range(data // 65536, (at - 1) // 65536 + 1))
        return len(blocks)


def line(path, below):
    about = os.lstat(path)
    out = [os.fsencode(below), oct(about.st_mode), about.st_uid, about.st_gid, about.st_mtime_ns]
    attributes = os.listxattr(path, follow_symlinks=False)
    out += [(name, os.getxattr(path, name, follow_symlinks=False)) for name in sorted(attributes)]
    if stat.S_ISREG(about.st_mode):
        with open(path, "rb") as file:
            out += [about.st_size, about.st_nlink, holes(path, about.st_size), hashlib.sha256(file.read()).hexdigest()]
    if stat.S_ISLNK(about.st_mode):
        out += [os.readlink(path)]
    return repr(out)


root = sys.argv[1]
print(line(root, ""))
if os.path.isdir(root):
    for folder, folders, files in os.walk(root):
        folders.sort()
        for name in sorted(folders + files):
            path = os.path.join(folder, name)
            print(line(path, os.path.relpath(path, root)))
