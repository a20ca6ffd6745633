"""Drives a real window of the viewer under Xvfb by synthetic input, and makes the pictures of README and tutorial.

    tests/gui/drive_window.py --viewer build/bin/tferry-gui --tferry build/bin/tferry --session tests/golden/gpt2.tferry
    ... --pictures docs/pictures     # keep the pictures there
    ... --build build                # with what is needed to replay the session under its plan: one more picture

Opens, zooms, searches, selects, measures, exports; after each step the frame buffer has to show a change, and where the
step is taken back, what was there before. Exit code 77 (skipped) where Xvfb or xdotool is missing.
"""

import argparse
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib

SIZE = (1440, 900)
TIMEOUT = 60.0
STREAM_Y = 245  # of the stream's lane in the window, pixels
CURVE_TAB = ("1065", "627")
SKIPPED = 77


class Failed(Exception):
    """What was expected and did not happen."""


def read_frame(path):
    """Width, height and RGB bytes of an XWD file, as Xvfb -fbdir keeps it (X11/XWDFile.h, version 7, 32 bits a pixel)."""
    with open(path, "rb") as file:
        data = file.read()
    header = struct.unpack(">25I", data[:100])
    header_size, width, height, line, colors = header[0], header[4], header[5], header[12], header[19]
    start = header_size + colors * 12
    rows = []
    for y in range(height):
        row = data[start + y * line:start + y * line + width * 4]
        pixels = bytearray(width * 3)
        pixels[0::3], pixels[1::3], pixels[2::3] = row[2::4], row[1::4], row[0::4]
        rows.append(bytes(pixels))
    return width, height, rows


def write_png(path, frame):
    width, height, rows = frame

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    raw = b"".join(b"\0" + row for row in rows)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
                   chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b""))


def changed(before, after):
    """Share of the picture that differs."""
    different = sum(sum(map(int.__ne__, a, b)) for a, b in zip(before[2], after[2]) if a != b)
    return different / (3 * before[0] * before[1])


class Window:
    def __init__(self, arguments, folder):
        read, write = os.pipe()
        self.server = subprocess.Popen(
            ["Xvfb", "-displayfd", str(write), "-screen", "0", f"{SIZE[0]}x{SIZE[1]}x24", "-fbdir", folder, "-nolisten", "tcp"],
            pass_fds=[write], stderr=subprocess.DEVNULL)
        os.close(write)
        with os.fdopen(read) as numbers:
            number = numbers.readline().strip()
        if not number:
            raise Failed("Xvfb did not start")
        self.frame_file = os.path.join(folder, "Xvfb_screen0")
        self.environment = dict(os.environ, DISPLAY=f":{number}", XDG_CONFIG_HOME=folder, QT_QPA_PLATFORM="xcb")
        self.environment.pop("WAYLAND_DISPLAY", None)
        self.viewer = subprocess.Popen(arguments, env=self.environment)

    def xdotool(self, *words):
        done = subprocess.run(["xdotool", *words], env=self.environment, capture_output=True, text=True)
        return done.stdout.strip()

    def wait_for_title(self, title):
        end = time.monotonic() + TIMEOUT
        while time.monotonic() < end:
            found = self.xdotool("search", "--onlyvisible", "--name", title)
            if found:
                return found.splitlines()[0]
            if self.viewer.poll() is not None:
                raise Failed(f"the viewer ended with {self.viewer.returncode}")
            time.sleep(0.2)
        raise Failed(f"no window \"{title}\" after {TIMEOUT:.0f} s")

    def settled(self):
        """The frame, once it has stayed the same for half a second."""
        end = time.monotonic() + TIMEOUT
        last = read_frame(self.frame_file)
        same_since = time.monotonic()
        while time.monotonic() < end:
            time.sleep(0.1)
            frame = read_frame(self.frame_file)
            if frame != last:
                last, same_since = frame, time.monotonic()
            elif time.monotonic() - same_since > 0.5:
                return frame
        return last

    def close(self):
        for process in (self.viewer, self.server):
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()


def differ(before, after, least, what):
    share = changed(before, after)
    expect(share >= least, f"{what}: {share:.1%} of the picture changed")


def expect(holds, what):
    if not holds:
        raise Failed(what)


def drive(window, name, pictures, folder):
    def keep(picture, frame):
        if pictures:
            write_png(os.path.join(pictures, picture), frame)

    identifier = window.wait_for_title(f"{name}.*Tensorferry")
    window.xdotool("windowmove", identifier, "0", "0")
    window.xdotool("windowfocus", identifier)
    window.xdotool("mousemove", "700", str(SIZE[1] - 5))  # where no tooltip appears
    opened = window.settled()
    expect(len(set(opened[2])) > 50, "the window is empty")
    keep("viewer.png", opened)

    for _ in range(4):
        window.xdotool("key", "w")
    zoomed = window.settled()
    differ(opened, zoomed, 0.03, "W did not zoom")
    keep("viewer-zoomed.png", zoomed)
    window.xdotool("key", "Home")
    expect(changed(opened, window.settled()) < 0.02, "Home did not show everything again")

    window.xdotool("key", "slash")
    window.xdotool("type", "--delay", "20", "sgemm")
    window.xdotool("key", "Return")
    found = window.settled()
    differ(opened, found, 0.02, "the search changed nothing")
    window.xdotool("key", "Escape", "f", "s", "s", "s", "s", "s", "s", "s", "s")
    selected = window.settled()
    differ(found, selected, 0.02, "F did not frame the match")
    keep("viewer-search.png", selected)

    window.xdotool("key", "Escape")
    dropped = window.settled()
    window.xdotool("mousemove", "700", str(STREAM_Y), "click", "1")
    differ(dropped, window.settled(), 0.002, "a click selected nothing")

    window.xdotool("mousemove", "500", "300", "mousedown", "1", "mousemove", "650", "305", "mousemove", "800", "310", "mouseup", "1")
    differ(selected, window.settled(), 0.01, "dragging did not measure")
    window.xdotool("key", "Escape", "Home", "p")
    keep("viewer-memory.png", window.settled())

    window.xdotool("key", "Escape", "Home")
    whole = window.settled()
    window.xdotool("mousemove", *CURVE_TAB, "click", "1")
    time.sleep(3)  # it is simulated now
    curve = window.settled()
    differ(whole, curve, 0.02, "a click on a tab showed no other report")
    keep("viewer-curve.png", curve)

    window.xdotool("mousemove", "700", "300", "click", "1", "key", "ctrl+e")
    dialog = window.wait_for_title("Export")
    window.xdotool("windowfocus", dialog)
    exported = os.path.join(folder, "exported.png")
    window.xdotool("type", "--delay", "5", exported)
    window.xdotool("key", "Return")
    end = time.monotonic() + 20
    while not os.path.exists(exported) and time.monotonic() < end:
        time.sleep(0.1)
    expect(os.path.exists(exported), "Ctrl+E wrote no picture")
    with open(exported, "rb") as file:
        expect(file.read(8) == b"\x89PNG\r\n\x1a\n", "what Ctrl+E wrote is no PNG")


def contention_picture(options, folder):
    """Two made-up GPUs that slow each other: the golden sessions have one."""
    made, analyzed = os.path.join(folder, "made.tferry"), os.path.join(folder, "two-gpus.tferry")
    keys = os.path.join(folder, "contention.keys")
    with open(keys, "w", encoding="utf-8") as file:
        file.write(f"report contention\nchoose link_or_host_memory\n"
                   f"picture {os.path.join(options.pictures, 'viewer-contention.png')}\n")
    for command in (
            [options.tferry, "demo", "-q", "--synthesize", "100k", "--seed", "1", "-o", made],
            [options.tferry, "analyze", "-q", "--no-plan", "--assume-solo", "h2d=55.3GB/s,d2h=55.3GB/s", made, "-o", analyzed],
            [options.viewer, analyzed, "--size", f"{SIZE[0]}x{SIZE[1]}", "--theme", "light", "--keys", keys]):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=dict(os.environ, QT_QPA_PLATFORM="offscreen"))


def planned_picture(options, session, folder):
    """The recorded job done again under its plan, on the software driver and a link slower than the plan takes it for."""
    golden = os.path.dirname(options.session)
    run = os.path.join(folder, "planned.tferry")
    emulated = dict(os.environ, LD_LIBRARY_PATH=os.path.join(options.build, "lib", "software_driver"), SWD_CONTENTS="0",
                    SWD_DEVICE_MEMORY=str(40 << 30), SWD_H2D_GBPS="40")
    subprocess.run([options.tferry, "run", "-q", "--plan", session, "-o", run, os.path.join(options.build, "bin", "tferry-replay"),
                    os.path.join(golden, "gpt2.runtime.spool.gz"), "--times", os.path.join(golden, "gpt2.collector.spool.gz"),
                    "--steps", "12"], check=True, stdout=subprocess.DEVNULL, env=emulated)
    subprocess.run([options.viewer, run, "--screenshot", os.path.join(options.pictures, "viewer-planned.png"), "--force",
                    "--size", "1440x620", "--theme", "light"], check=True, env=dict(os.environ, QT_QPA_PLATFORM="offscreen"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--viewer", required=True)
    parser.add_argument("--tferry", required=True)
    parser.add_argument("--session", required=True)
    parser.add_argument("--pictures", help="folder that keeps the pictures; made where it is not there")
    parser.add_argument("--build", help="build folder with tferry-replay and the software driver")
    options = parser.parse_args()
    missing = [program for program in ("Xvfb", "xdotool") if not shutil.which(program)]
    if missing:
        print(f"skipped: {' and '.join(missing)} not installed")
        return SKIPPED
    if options.pictures:
        os.makedirs(options.pictures, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        session = os.path.join(folder, os.path.basename(options.session))
        subprocess.run([options.tferry, "analyze", "-q", "--oversubscribe", "1.5", options.session, "-o", session], check=True,
                       stdout=subprocess.DEVNULL)
        window = Window([options.viewer, session, "--size", f"{SIZE[0]}x{SIZE[1]}", "--theme", "light"], folder)
        try:
            drive(window, os.path.basename(session), options.pictures, folder)
        except Failed as failure:
            print(f"failed: {failure}")
            return 1
        finally:
            window.close()
        if options.pictures:
            contention_picture(options, folder)
        if options.pictures and options.build:
            planned_picture(options, session, folder)
    print("opened, zoomed, searched, selected, measured and exported")
    return 0


if __name__ == "__main__":
    sys.exit(main())
