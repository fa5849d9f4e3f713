"""What the experiments on storage share: emulated places, the machine's own ones, fio, a small kernel.

    with Storage() as storage: ...

makes a folder of its own and takes everything away at the end, whatever happened. The bench runs in a mount
namespace of its own, so that nobody else sees its mounts."""
import contextlib, ctypes, json, mmap, os, random, shutil, signal, socket, subprocess, sys, tempfile, time
from dataclasses import dataclass, field

KiB, MiB, GiB = 1 << 10, 1 << 20, 1 << 30
PAPER = [n * 8 * KiB for n in range(1, 8)] + [n * 32 * KiB for n in range(2, 129)]  # SeRRa's request sizes
FULL = "--full" in sys.argv


@dataclass
class Place:
    name: str
    path: str
    filesystem: str
    devices: list = field(default_factory=list)  # names in the lab; none = the machine's own
    lines: str = ""  # for sluice.toml


@dataclass(frozen=True)
class Access:
    mode: str  # direct, buffered, synced
    write: bool
    random: bool

    @property
    def words(self):
        return ("random" if self.random else "sequential") + (" write" if self.write else " read")

    def __str__(self):
        return f"{self.mode} {self.words}"


ACCESSES = [Access("direct", w, r) for w in (False, True) for r in (False, True)] + \
           [Access("buffered", w, r) for w in (False, True) for r in (False, True)] + \
           [Access("synced", True, r) for r in (False, True)]


def say(*words):
    print(*words, file=sys.stderr, flush=True)


def run(*words, **more):
    done = subprocess.run(words, capture_output=True, text=True, **more)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr or done.stdout}")
    return done.stdout


def filesystem_of(path):
    """As mountinfo has it: statfs has one number for ext2, ext3 and ext4."""
    return run("findmnt", "--noheadings", "--output", "FSTYPE", "--target", path).split()[-1]


def show_size(size):
    for unit, name in ((GiB, "G"), (MiB, "M"), (KiB, "K")):
        if size >= unit and size % unit == 0:
            return f"{size // unit}{name}"
    return f"{size}B"


class Storage:
    def __enter__(self):
        # So that the end is reached when somebody stops us.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        self.top = tempfile.mkdtemp(prefix="sluice-bench-")
        self.lab, self.catalog, self.config = (self.top + "/" + name for name in ("lab", "catalog", "sluice.toml"))
        self.places, self.models, self.failed = [], {}, []
        return self

    def __exit__(self, *_):
        for place in self.places:
            if place.name == "memory":
                subprocess.run(["umount", place.path])
        subprocess.run([os.environ["SLUICE"], "lab", "down", "--lab", self.lab], stdout=subprocess.DEVNULL)
        shutil.rmtree(self.top, ignore_errors=True)

    def sluice(self, *words):
        done = subprocess.run([os.environ["SLUICE"], *words, "--json", "--log-level=error"], capture_output=True,
                              text=True)
        if done.returncode != 0:
            raise RuntimeError(f"sluice {' '.join(words)}: {done.stderr or done.stdout}")
        return json.loads(done.stdout)

    # Places.

    def up(self, scale):
        """The places of IOSIG's table 2."""
        made = self.sluice("lab", "up", "--scale", str(scale), "--lab", self.lab)
        for row in made["places"]:
            lines = f'volatile = {str(row["volatile"]).lower()}\nglobal = {str(row["global"]).lower()}\n'
            lines += 'layout = "raid1:2"\nmttf = "10y"\n' if row["name"] == "raid1" else ""
            self.places.append(Place(row["name"], row["path"], row["filesystem"], row["devices"], lines))
        self.learn_models()

    def device(self, name, model, size, *settings, mkfs=("mkfs.ext4", "-q", "-m", "0")):
        """An emulated device with a file system on it; made at full speed, then like its model."""
        made = self.sluice("lab", "device", name, "--size", f"{size}B", "--lab", self.lab)
        loop = run("losetup", "--direct-io=on", "--find", "--show", made["file"]).strip()
        with open(f"/sys/block/{os.path.basename(loop)}/queue/read_ahead_kb", "w") as file:
            file.write("128\n")  # as a disk; this kernel's 2.5 MiB for loop devices is not
        path = f"{self.top}/{name}"
        os.mkdir(path)
        more = ["-E", "nodiscard,lazy_itable_init=1,lazy_journal_init=1"] if "ext4" in mkfs[0] else []
        run(*mkfs, *more, loop)
        run("mount", "-o", "noinit_itable" if more else "defaults", loop, path)
        self.set(name, "preset=" + model, *settings)
        self.places.append(Place(name, path, mkfs[0].split(".")[1], [name], "volatile = false\nglobal = false\n"))
        self.learn_models()
        return self.places[-1]

    def own_disk(self):
        os.mkdir(self.top + "/disk")
        self.places.append(Place("disk", self.top + "/disk", filesystem_of(self.top), [], "volatile = false\nglobal = false\n"))
        return self.places[-1]

    def memory(self, size=GiB):
        path = self.top + "/memory"
        os.mkdir(path)
        run("mount", "-t", "tmpfs", "-o", f"size={size}", "sluice-bench", path)
        self.places.append(Place("memory", path, "tmpfs", [], "volatile = true\nglobal = false\n"))
        # A virtual machine's memory is slow when it is touched for the first time.
        self.fill(self.places[-1], path + "/touch", size // 10 * 9)
        os.unlink(path + "/touch")
        return self.places[-1]

    def configure(self):
        """sluice.toml with these places alone, without figures: those are to be measured."""
        text = "".join(f'[place.{place.name}]\npath = "{place.path}"\n{place.lines}' for place in self.places)
        with open(self.config, "w") as file:
            file.write(text)
        ours = {place.name for place in self.places}
        found = self.sluice("places", "--config", self.config, "--catalog", self.catalog)["places"]
        with open(self.config, "a") as file:
            # With their paths, so that it does not matter when one of them goes.
            file.writelines(f'[place."{row["name"]}"]\npath = "{row["path"]}"\nignore = true\n' for row in found
                            if row["name"] not in ours)

    # Emulated devices while they run.

    def ask(self, device, line):
        with socket.socket(socket.AF_UNIX) as link:
            link.connect(f"{self.lab}/{device}/control")
            link.sendall((line + "\n").encode())
            answer = json.loads(link.makefile().readline())
        if "error" in answer:
            raise RuntimeError(f"{device}: {line}: {answer['error']}")
        return answer

    def set(self, device, *settings):
        self.ask(device, "set " + " ".join(settings))

    def learn_models(self):
        for device in {name for place in self.places for name in place.devices} - set(self.models):
            model = self.ask(device, "status")["model"]
            # Durations are seconds in JSON and need their unit in a command.
            text = lambda name, value: (str(value).lower() if isinstance(value, bool) else
                                        f"{round(value * 1e9)}ns" if name.endswith("latency") or name.startswith("seek")
                                        else f"{value:.17g}" if isinstance(value, float) else str(value))
            self.models[device] = [f"{name}={text(name, value)}" for name, value in model.items()]

    def same_luck(self, place, seed):
        """Emulated devices draw the same latencies from here on as after the last call with that seed."""
        for device in place.devices:
            self.set(device, f"seed={seed + 1000000}")
            self.set(device, f"seed={seed}")

    @contextlib.contextmanager
    def full_speed(self, place):
        for device in place.devices:
            self.set(device, "preset=none")
        yield
        for device in place.devices:
            self.set(device, *self.models[device])

    def settle(self, place):
        """Nothing is dirty, neither in the page cache nor in the device's own, and no file is in the page cache."""
        folder = os.open(place.path, os.O_RDONLY)
        with self.full_speed(place):
            # Of this place alone: a global sync would wait for whatever hangs elsewhere on the machine.
            ctypes.CDLL(None).syncfs(folder)
        for name in os.listdir(folder):
            file = os.open(name, os.O_RDONLY, dir_fd=folder)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(file)
        os.close(folder)

    def fill(self, place, path, size):
        """A file full of bytes that do not repeat; emulated devices take them at full speed."""
        buffer = mmap.mmap(-1, 4 * MiB)
        buffer.write(os.urandom(4 * MiB))
        with self.full_speed(place):
            fd = os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_DIRECT, 0o600)
            for offset in range(0, size, 4 * MiB):
                os.pwrite(fd, memoryview(buffer)[:min(4 * MiB, size - offset)], offset)
            os.fsync(fd)
            os.close(fd)

    # The program itself.

    def profile(self, place, *words):
        """The profile; None where it failed, which is said."""
        try:
            return self.sluice("profile", place.name, "--config", self.config, "--catalog", self.catalog, *words)
        except RuntimeError as error:
            say(error)
            self.failed.append(place.name)
            return None

    def advise(self, words, mode="direct", streams=1):
        """The answer whole; it may be that no place is admissible."""
        command = [os.environ["SLUICE"], "advise", words, "--io", mode, "--streams", str(streams), "--config",
                   self.config, "--catalog", self.catalog, "--json", "--log-level=error"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode not in (0, 1):
            raise RuntimeError(f"{' '.join(command)}: {done.stderr}")
        return json.loads(done.stdout)


class Files:
    """On one place: a file for one stream, four for four streams, and room for a new one of `fresh` bytes."""

    def __init__(self, storage, place, most):
        found = os.statvfs(place.path)
        free = found.f_bavail * found.f_frsize
        self.storage, self.place = storage, place
        self.size = min(most, free // 10 * 3) // (4 * MiB) * (4 * MiB)
        self.fresh = min(most, free // 10 * 3)
        storage.fill(place, place.path + "/one", self.size)
        for i in range(4):
            storage.fill(place, f"{place.path}/four.{i}", self.size // 4)

    def largest(self, streams):
        return self.size // streams // 2

    def remove(self):
        for name in os.listdir(self.place.path):
            if name == "one" or name.split(".")[0] in ("four", "new"):
                os.unlink(f"{self.place.path}/{name}")


def fio(files, access, size, streams, total, limit, seed=1):
    """Bytes a second that fio reaches by about `total` bytes in at most about `limit` seconds, from rest.

    direct: past the page cache, on a file that is there. synced: buffered, with an fsync after each write.
    Buffered reads find a cold cache; buffered writes count one fsync at the end. Sequential writes through the page
    cache go to a new file, all others to one that is there. Through the page cache no byte is touched twice: that
    would be memory's speed."""
    place, cached = files.place, access.mode != "direct"
    new = access.write and not access.random and cached
    room = (files.fresh if new else files.size) // streams // size * size
    share = max(size, total // streams // size * size)
    share = min(share, room) if cached else share
    kind = ("rand" if access.random else "") + ("write" if access.write else "read")
    name = "new" if new else "one" if streams == 1 else "four"
    words = ["fio", "--name=t", "--ioengine=psync", "--thread", "--eta=never", "--disk_util=0", "--gtod_reduce=1",
             "--clocksource=clock_gettime", "--output-format=json", "--fadvise_hint=0", "--fallocate=none",
             "--group_reporting", "--randrepeat=0", f"--randseed={seed}", f"--rw={kind}", f"--bs={size}",
             f"--numjobs={streams}", f"--size={share if new else room}", f"--io_size={share}", f"--runtime={limit}",
             f"--directory={place.path}", "--filename_format=" + (name if name == "one" else name + ".$jobnum"),
             f"--direct={int(not cached)}"]
    words += ["--fsync=1"] if access.mode == "synced" else []
    words += ["--end_fsync=1"] if access.mode == "buffered" and access.write else []
    words += ["--overwrite=1"] if access.write and not new else []
    words += [] if cached else ["--norandommap"]
    files.storage.settle(place)
    done = json.loads(run(*words, cwd=place.path))
    if new:
        for i in range(streams):
            os.unlink(f"{place.path}/new.{i}")
    job = done["jobs"][0]["write" if access.write else "read"]
    return job["io_bytes"] / (job["runtime"] / 1000)


class Kernel:
    """Single timed requests without fio, where its start would cost more than the requests."""

    def __init__(self, path, largest, direct=True):
        self.fd = os.open(path, os.O_RDWR | (os.O_DIRECT if direct else 0))
        self.memory = mmap.mmap(-1, largest)
        self.memory.write(os.urandom(largest))

    def request(self, write, offset, size, sync=False):
        buffer = memoryview(self.memory)[:size]
        start = time.perf_counter()
        done = os.pwritev(self.fd, [buffer], offset) if write else os.preadv(self.fd, [buffer], offset)
        if sync:
            os.fdatasync(self.fd)
        taken = time.perf_counter() - start
        if done != size:
            raise RuntimeError(f"a request of {size} moved {done} bytes")
        return taken

    def flush(self):
        start = time.perf_counter()
        os.fdatasync(self.fd)
        return time.perf_counter() - start

    def close(self):
        os.close(self.fd)
