"""What copies cost on the wire, by the GPU's PCIe counters, learned from copies of known sizes.

The counters count bytes on the wire: a copy's payload with its packet headers in one direction, and requests and
acknowledgements in the other (an H200 counted 58 GB/s for 55 GB/s copied in, and 3.5 GB/s the other way). So counters
and recorded bytes are compared by way of a calibration: reads = r_in * in + r_out * out, likewise writes.
"""

READ, WRITE = "pcie__read_bytes.sum", "pcie__write_bytes.sum"
MARGIN_NS = 50_000_000
GAP_NS = 100_000_000
ENOUGH = 0.98  # share of a window that has to be sampled


class Unknown(Exception):
    """The comparison cannot be made; says why."""


def copies_of(sessions, session, condition="bytes >= 16777216"):
    """The timed copies over the link in a session; `sessions` is a recordings.Recordings."""
    return sessions.rows(session, "SELECT start_ns, end_ns, bytes, kind, device_id, owner FROM memcpy WHERE "
                                  f"kind IN (1, 2) AND end_ns > start_ns AND {condition} ORDER BY start_ns")


def window_reader(sessions, session):
    """For calibrate() and the like: sums of counters of the GPU with the most traffic, that of the job."""
    devices = sessions.rows(session, "SELECT device_id FROM counter JOIN string ON string.id = name_id WHERE "
                                     f"string.value = '{READ}' GROUP BY device_id ORDER BY sum(counter.value) DESC")
    if not devices:
        raise Unknown(f"{READ} was not sampled")
    device = devices[0]["device_id"]
    return lambda counter, start, end: sessions.counter_window(session, counter, device, start, end)


def groups(copies):
    """Copies (start_ns, end_ns, bytes, kind) in groups with pauses between them, with each one's bytes in and out."""
    found = []
    for copy in sorted(copies, key=lambda c: c["start_ns"]):
        if not found or copy["start_ns"] - found[-1]["end_ns"] > GAP_NS:
            found.append({"start_ns": copy["start_ns"], "end_ns": copy["end_ns"], "in": 0, "out": 0})
        found[-1]["end_ns"] = max(found[-1]["end_ns"], copy["end_ns"])
        found[-1]["in" if copy["kind"] == 1 else "out"] += copy["bytes"]
    return found


def read_window(window_of, start_ns, end_ns):
    """Bytes read and written on the wire in a window; window_of(counter, start, end) gives total and covered share."""
    totals = []
    for counter in (READ, WRITE):
        total, covered = window_of(counter, start_ns, end_ns)
        if covered < ENOUGH:
            raise Unknown(f"{counter} was sampled in {100 * covered:.1f} % of a window only")
        totals.append(total)
    return totals


def calibrate(copies, window_of):
    """From the session of lib/wire.py: what an idle second and each byte in and out cost, and how well that foretells
    copies in both directions at once."""
    found = groups(copies)
    if len(found) != 4 or found[1]["out"] or found[2]["in"]:
        raise Unknown(f"the calibration's four groups of copies were not found, but {len(found)}")
    pauses = [(a["end_ns"] + MARGIN_NS, b["start_ns"] - MARGIN_NS) for a, b in zip(found, found[1:])]
    seconds = sum(end - start for start, end in pauses) / 1e9
    idle_totals = [read_window(window_of, *pause) for pause in pauses]
    idle = [sum(total[i] for total in idle_totals) / seconds for i in (0, 1)]
    wire = [traffic(group, idle, window_of) for group in found[1:]]
    cost = {"in": [value / found[1]["in"] for value in wire[0]], "out": [value / found[2]["out"] for value in wire[1]],
            "idle_per_s": idle}
    foretold = foretell(cost, found[3]["in"], found[3]["out"])
    cost["duplex_deviation"] = [measured / expected - 1 for measured, expected in zip(wire[2], foretold)]
    return cost


def traffic(window, idle_per_s, window_of, margin_ns=MARGIN_NS):
    """Bytes on the wire around a window, less what an idle job causes meanwhile."""
    start, end = window["start_ns"] - margin_ns, window["end_ns"] + margin_ns
    return [total - idle * (end - start) / 1e9 for total, idle in zip(read_window(window_of, start, end), idle_per_s)]


def payload(cost, window, window_of):
    """Bytes copied in and out during a window (start, end), from what it shows on the wire."""
    reads, writes = traffic({"start_ns": window[0], "end_ns": window[1]}, cost["idle_per_s"], window_of, margin_ns=0)
    (in_read, in_write), (out_read, out_write) = cost["in"], cost["out"]
    determinant = in_read * out_write - out_read * in_write
    return ((reads * out_write - out_read * writes) / determinant, (in_read * writes - reads * in_write) / determinant)


def foretell(cost, bytes_in, bytes_out):
    return [cost["in"][i] * bytes_in + cost["out"][i] * bytes_out for i in (0, 1)]
