"""Makes a long session of a short one: an analyzed iteration of its middle is repeated, time and numbers shifted."""

import shutil
import sqlite3

# Tables of what happens, with the column that says when; what else there is (names, devices) stays.
EVENTS = {"kernel": "coalesce(call_ns, start_ns)", "memcpy": "coalesce(call_ns, start_ns)",
          "memset": "coalesce(call_ns, start_ns)", "counter": "start_ns", "sync": "start_ns", "marker": "start_ns",
          "overhead": "start_ns", "allocation": "alloc_ns"}
DERIVED = ("operation", "iteration", "tensor", "tensor_allocation", "bound", "simulation", "transfer", "contention", "plan",
           "plan_action")


def columns(session, table):
    return [row[1] for row in session.execute(f"PRAGMA table_info({table})")]


def shifted(name, table, places):
    """The column of the k-th copy; :names are the shifts of one iteration."""
    if name == "id":
        return "id + :allocations * k" if table == "allocation" else "NULL"
    if name.endswith("_ns") and name not in ("wait_ns", "value_ns"):
        return f"{name} + :time * k"
    if name == "operation":
        return "operation + :operations * k"
    if name == "allocation":
        return "allocation + :allocations * k"
    if name == "allocation_id":
        return f"CASE WHEN allocation_id >= {places['first_allocation']} THEN allocation_id + :allocations * k " \
               "ELSE allocation_id END"
    return name


def repeat(source, target, events):
    """Writes `target`, the analyzed session `source` with its second last iteration repeated until there are about so many
    rows of events and accesses; returns how many there are."""
    shutil.copyfile(source, target)
    session = sqlite3.connect(target)
    session.execute("PRAGMA journal_mode=OFF")
    session.execute("PRAGMA synchronous=OFF")
    spans = session.execute("SELECT process_id, first_operation FROM iteration ORDER BY number DESC LIMIT 3").fetchall()
    (process, after), (_, first), (_, before) = spans
    call = "SELECT min(call_ns) FROM operation WHERE process_id = ? AND operation = ?"
    begin, end, earlier = (session.execute(call, (process, at)).fetchone()[0] for at in (first, after, before))
    allocations = [session.execute("SELECT min(id) FROM allocation WHERE alloc_ns >= ?", (time,)).fetchone()[0]
                   for time in (earlier, begin, end)]
    places = {"first_allocation": allocations[0]}
    shift = {"time": end - begin, "operations": after - first, "allocations": allocations[2] - allocations[1]}
    for table in DERIVED:
        session.execute(f"DELETE FROM {table}")
    for table, when in EVENTS.items():
        session.execute(f"DELETE FROM {table} WHERE {when} >= ?", (end,))
    session.execute("DELETE FROM access WHERE operation >= ?", (after,))
    session.execute("UPDATE allocation SET free_ns = NULL WHERE free_ns >= ? AND alloc_ns < ?", (end, earlier))
    inside = {table: f"{when} >= {begin}" for table, when in EVENTS.items()}
    inside["access"] = f"operation >= {first}"
    one = sum(session.execute(f"SELECT count(*) FROM {table} WHERE {which}").fetchone()[0]
              for table, which in inside.items())
    have = sum(session.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in inside)
    copies = max(1, (events - have) // max(1, one))
    indexes = session.execute("SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL").fetchall()
    for name, _ in indexes:
        session.execute(f"DROP INDEX {name}")
    for table, which in inside.items():
        names = columns(session, table)
        values = ", ".join(shifted(name, table, places) for name in names)
        session.execute(f"CREATE TEMP TABLE piece AS SELECT * FROM {table} WHERE {which} ORDER BY rowid")
        session.execute(f"WITH RECURSIVE copy(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM copy WHERE k < :copies) "
                        f"INSERT INTO {table}({', '.join(names)}) SELECT {values} FROM copy CROSS JOIN temp.piece",
                        {**shift, "copies": copies})
        session.execute("DROP TABLE temp.piece")
    for _, sql in indexes:
        session.execute(sql)
    session.execute("ANALYZE")
    session.commit()
    session.close()
    return have + copies * one
