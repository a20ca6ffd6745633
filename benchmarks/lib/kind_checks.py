"""Compares recordings of tferry-sample-kinds with what it prints as known: counts, bytes, and whose.

    known TABLE KIND COUNT[ or more][ of BYTES bytes][ with FIELD=VALUE ...]

Each field narrows down which rows are meant, see FIELDS. "or more" is about the count; bytes are exact."""

import re

KNOWN = re.compile(r"^known (\S+)(?: (\S+))? (\d+)( or more)?(?: of (\d+) bytes)?(?: with (.+))?$", re.MULTILINE)
PROGRAM = "owner <> 2"  # memcpy.owner and kernel.owner: 2 is the runtime
LABEL = "(SELECT value FROM enumeration WHERE name = '{0}' AND label = '{1}')"
NAMED = "(SELECT id FROM string WHERE value = '{0}')"
# How the kinds of a table are told apart: the column, and the enumeration that names it.
ENUMERATED = {"memcpy": ("kind", "copy_kind"), "um_event": ("kind", "um_event_kind"), "allocation": ("api", "allocation_api"),
              "sync": ("kind", "sync_kind"), "marker": ("kind", "marker_kind"), "access": ("known_by", "known_by"),
              "pool_operation": ("kind", "pool_operation_kind")}
# CUPTI's numbers: how memory was accessed (faults), why it moved (migrations), why it is mapped where it lies.
ACCESS = {"read": 1, "write": 2, "atomic": 3, "prefetch": 4}
MIGRATION = {"user": 1, "coherence": 2, "prefetch": 3, "eviction": 4, "access_counters": 5}


def cause(kind, name):
    return (MIGRATION if kind.startswith("migration") else ACCESS)[name]


def address(field, value):
    """An address, or START+BYTES: one from there on."""
    start, _, size = value.partition("+")
    return f"{field} >= {start} AND {field} < {int(start) + int(size)}" if size else f"{field} = {start}"


FIELDS = {
    "address": lambda kind, value: address("address", value),
    "source_address": lambda kind, value: address("source_address", value),
    "destination_address": lambda kind, value: address("destination_address", value),
    "source_kind": lambda kind, value: "source_kind = " + LABEL.format("memory_kind", value),
    "destination_kind": lambda kind, value: "destination_kind = " + LABEL.format("memory_kind", value),
    "source_device": lambda kind, value: f"source_device_id IN (SELECT device_id FROM process_device WHERE ordinal = {value})",
    "destination_device":
        lambda kind, value: f"destination_device_id IN (SELECT device_id FROM process_device WHERE ordinal = {value})",
    "cause": lambda kind, value: f"cause = {cause(kind, value)}",
    "priority": lambda kind, value: f"stream_id IN (SELECT id FROM stream WHERE owner = 1 AND priority = {value})",
    "domain": lambda kind, value: "domain_id = " + NAMED.format(value),
    "name": lambda kind, value: "name_id = " + NAMED.format(value),
    "value": lambda kind, value: f"value = {value}",
    "result": lambda kind, value: f"result = {value}",
    "thread": lambda kind, value: f"thread = {value}",
    "api": lambda kind, value: "allocation_id IN (SELECT id FROM allocation WHERE api = " +
                               LABEL.format("allocation_api", value) + ")",
}
IN_GRAPH = "correlation_id IN (SELECT correlation_id FROM graph_launch WHERE graph_launch.process_id = {0}.process_id)"


def conditions(table, kind):
    """What holds for the rows that are meant, besides the fields."""
    known = []
    if table in ("memcpy", "memset", "kernel"):
        known += [PROGRAM, "start_ns IS NOT NULL"]
    if kind == "of_graphs":
        known.append(IN_GRAPH.format(table))
    elif table in ENUMERATED:
        column, enumeration = ENUMERATED[table]
        known.append(f"{column} = {LABEL.format(enumeration, kind)}")
    elif table == "api_call":
        known.append("name_id = " + NAMED.format(kind))
    if table == "allocation":
        known.append("free_ns IS NOT NULL")
    if table in ("sync", "api_call") or (table, kind) == ("marker", "range"):
        known.append("end_ns >= start_ns")
    return known


def question(table, kind, fields="", size=""):
    """The SQL that answers with n, and bytes where there are some, for one known line."""
    if table == "stream":
        return "SELECT count(DISTINCT priority) AS n FROM stream WHERE owner = 1 AND id IN (SELECT stream_id FROM kernel)"
    known = conditions(table, kind)
    for field in fields.split():
        name, _, value = field.partition("=")
        known.append(FIELDS[name](kind, value))
    return ("SELECT count(*) AS n" + (", coalesce(sum(bytes), 0) AS bytes" if size else "") + f" FROM {table}" +
            (" WHERE " + " AND ".join(known) if known else ""))


def compare(text, answer):
    """Sentences for what differs between the sample's known lines and what `answer(sql)` gives; how many agree; and,
    of the lines that leave the count to the driver, what was recorded."""
    differences, agreeing, recorded = [], 0, []
    for table, kind, count, more, size, fields in KNOWN.findall(text):
        what = f"{table} {kind}".strip() + (f" with {fields}" if fields else "")
        try:
            row = answer(question(table, kind, fields, size))
        except Exception as error:  # noqa: BLE001: the other lines are asked all the same
            differences.append(f"{what}: {error}")
            continue
        seen = f"{what}: recorded {row['n']}" + (f" of {row['bytes']} bytes" if size else "")
        if more:
            recorded.append(seen)
        right = row["n"] >= int(count) if more else row["n"] == int(count)
        if right and (not size or row["bytes"] == int(size)):
            agreeing += 1
        else:
            differences.append(f"{seen}, made were {count}{more}" + (f" of {size} bytes" if size else ""))
    return differences, agreeing, recorded
