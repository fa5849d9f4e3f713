"""IOSIG's picture program under pragmas, on a lab of its table 2 with sizes and latencies divided by 50 and all times
ten times as long: what posterize, divide and shuffle share.

For each intent and size of chunks the program runs on every place that the constraints allow, without pragmas, and
with pragmas from every place that can be typed. Right is a choice whose own time, without pragmas, is within 5 % of the
best."""
import json, os, shutil, statistics, subprocess, sys
from storage import *

SLUICE, BUILD, SOURCE = (os.environ[name] for name in ("SLUICE", "SLUICE_BUILD", "SLUICE_SOURCE"))
PLACES = ("hdd", "shared", "raid1", "nvram", "ramdisk")
WORDS = {"global": "global persist", "safe": "persist MTTDL(20y)", "persist": "persist", "temp": "temp"}


class Lab:
    def __enter__(self):
        self.top = tempfile.mkdtemp(prefix="sluice-bench-")
        self.folder = self.top + "/lab"
        run(SLUICE, "lab", "up", "--lab", self.folder, "--scale", "50", "--slow-motion", "10")
        os.environ |= {"SLUICE_CONFIG": self.top + "/sluice.toml", "SLUICE_CATALOG": self.top + "/catalog.db",
                       "SLUICE_LIBRARY": BUILD + "/lib/libsluice.so.0", "HOME": self.top}
        shutil.copy(self.folder + "/sluice.toml", self.top + "/sluice.toml")
        found = json.loads(run(SLUICE, "places", "--json"))["places"]
        with open(self.top + "/sluice.toml", "a") as config:  # the machine's own are not part of the table
            for place in found:
                if place["name"] not in PLACES:
                    config.write(f'[place.{place["name"]}]\nignore = true\n')
        return self

    def __exit__(self, *_):
        subprocess.run([SLUICE, "lab", "down", "--lab", self.folder], stdout=subprocess.DEVNULL)
        shutil.rmtree(self.top, ignore_errors=True)

    def path(self, place):
        return f"{self.folder}/mnt/{place}"


def make_picture(path, size):
    width = 1024
    with open(path, "wb") as file:
        file.write(b"P5\n%d %d\n255\n" % (width, size // width))
        for _ in range(size // MiB):
            file.write(os.urandom(MiB))


def seconds(program, lab, work, output, chunk, intent):
    return float(run(program, work, lab.top + "/in.pgm", output, "--chunk", show_size(chunk), "--intent", intent))


def median_seconds(*arguments):
    """Short runs are repeated: what else the machine does counts for more in them than the difference of two fast places."""
    times = [seconds(*arguments)]
    for _ in range(8 if times[0] < 2 else 2 if FULL else 0):
        times.append(seconds(*arguments))
    return statistics.median(times)


def experiment(work, size, chunks, intents):
    with Lab() as lab:
        make_picture(lab.top + "/in.pgm", size)
        rows, rights, ratios = [], [], []
        pattern = "sequential" if work == "posterize" else "random"
        say(f"{'chunk':>8}  {'intent':8}{'chosen':9}" + "".join(f"{place + ', s':>12}" for place in PLACES) + f"{'declared, s':>14}{'times':>8}")
        for chunk in chunks:
            program = f"{lab.top}/image-{chunk}"
            run(BUILD + "/bin/sluice-cc", "-O2", f"-DCHUNK={show_size(chunk)}", f"-DTOTAL={show_size(size)}", "-o", program,
                SOURCE + "/examples/image/image.c")
            native, whole = {}, None
            for intent in intents:
                words = f"write {pattern} sync {WORDS[intent]} size-per-IO({show_size(chunk)}) totalsize({show_size(size)})"
                plan = json.loads(run(SLUICE, "advise", "--json", *words.split()))
                admitted = [row["place"] for row in plan["ranking"]]
                for place in {*admitted, "hdd"} - native.keys():
                    output = lab.path(place) + "/out.pgm"
                    native[place] = median_seconds(program, lab, work, output, chunk, "none")
                    with open(output, "rb") as file:
                        whole = whole or file.read()
                    os.unlink(output)
                declared = {}
                for start in PLACES:
                    if intent == "global" and start != "shared":
                        continue  # a link that one machine sees tells the others nothing: refused
                    if os.statvfs(lab.path(start)).f_bavail * os.statvfs(lab.path(start)).f_frsize < size and plan["chosen"] == start:
                        continue
                    output = lab.path(start) + "/out.pgm"
                    declared[start] = seconds(program, lab, work, output, chunk, intent)
                    where = os.path.realpath(output)
                    if not where.startswith(lab.path(plan["chosen"]) + "/"):
                        raise RuntimeError(f"from {start} it went to {where}, and {plan['chosen']} was chosen")
                    with open(output, "rb") as file:
                        if file.read() != whole:
                            raise RuntimeError(f"from {start} under {intent} the picture is another")
                    if os.path.islink(output):
                        os.unlink(where)
                    os.unlink(output)
                    run(SLUICE, "status", "--clean")
                best = min(native[place] for place in admitted)
                right = native[plan["chosen"]] <= 1.05 * best
                taken = statistics.median(declared.values())
                ratio = native["hdd"] / taken
                rights.append(right)
                ratios.append(ratio)
                rows.append({"chunk": chunk, "intent": intent, "chosen": plan["chosen"], "right": right, "ratio": round(ratio, 2),
                             "without_s": {place: round(native[place], 4) for place in sorted(native)},
                             "declared_s": {start: round(time, 4) for start, time in declared.items()}})
                say(f"{show_size(chunk):>8}  {intent:8}{plan['chosen']:9}" +
                    "".join(f"{native[place]:12.3f}" if place in native else f"{'-':>12}" for place in PLACES) +
                    f"{taken:14.3f}{ratio:8.1f}" + ("" if right else "  not the best"))
        print(json.dumps({"bench": work, "filesystem": "ext4 and btrfs on emulated devices", "file_mib": size // MiB,
                          "scale": 50, "slow_motion": 10, "repetitions": 9, "best": all(rights),
                          "ratio": round(max(ratios), 1), "least_ratio": round(min(ratios), 2), "rows": rows}))
