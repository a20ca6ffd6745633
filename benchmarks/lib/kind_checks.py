"""Compares recordings of tferry-sample-kinds with the counts and bytes that it prints as known."""

import re

KNOWN = re.compile(r"^known (\S+)(?: (\S+))? (\d+)(?: of (\d+) bytes)?$", re.MULTILINE)
PROGRAM = "owner <> 2"  # memcpy.owner and kernel.owner: 2 is the runtime
LABELLED = "SELECT count(*) AS n, coalesce(sum(bytes), 0) AS bytes FROM {0} JOIN enumeration AS e ON e.name = '{1}' AND " \
           "e.value = {0}.{2} WHERE e.label = '{3}'"


def question(table, kind):
    """The SQL that answers with n, and bytes where there are some, for one known line."""
    if table == "memcpy":
        return LABELLED.format("memcpy", "copy_kind", "kind", kind) + f" AND {PROGRAM} AND start_ns IS NOT NULL"
    if table == "um_event":
        return LABELLED.format("um_event", "um_event_kind", "kind", kind)
    if table == "allocation":
        return LABELLED.format("allocation", "allocation_api", "api", kind) + " AND free_ns IS NOT NULL"
    if table == "memset":
        return f"SELECT count(*) AS n, coalesce(sum(bytes), 0) AS bytes FROM memset WHERE {PROGRAM} AND start_ns IS NOT NULL"
    if table == "kernel" and kind == "of_graphs":
        return "SELECT count(*) AS n FROM kernel JOIN graph_launch USING (process_id, correlation_id) WHERE start_ns IS NOT NULL"
    if table == "kernel":
        return f"SELECT count(*) AS n FROM kernel WHERE {PROGRAM} AND start_ns IS NOT NULL"
    if table == "stream":
        return "SELECT count(DISTINCT priority) AS n FROM stream WHERE owner = 1 AND id IN (SELECT stream_id FROM kernel)"
    return f"SELECT count(*) AS n FROM {table}"


def compare(text, answer):
    """Sentences for what differs between the sample's known lines and what `answer(sql)` gives; and how many agree.

    Migrations are known by their bytes, not by their number: the driver cuts them as it likes, and may move more."""
    differences, agreeing = [], 0
    for table, kind, count, size in KNOWN.findall(text):
        row = answer(question(table, kind))
        what = f"{table} {kind}".strip()
        if table == "um_event":
            right = row["bytes"] >= int(size)
        else:
            right = row["n"] == int(count) and (not size or row["bytes"] == int(size))
        if right:
            agreeing += 1
        else:
            differences.append(f"{what}: recorded {row['n']}" + (f" of {row['bytes']} bytes" if size else "") +
                               f", made were {count}" + (f" of {size} bytes" if size else ""))
    return differences, agreeing
