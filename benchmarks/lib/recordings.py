"""Asks tferry about sessions: rows of SQL queries, what is missing, what windows of counters hold."""

import json
import subprocess

EVENT_TABLES = ("kernel", "memcpy", "memset", "graph_launch", "allocation", "swap", "gate", "um_event", "sync", "marker",
                "counter", "overhead")


class Recordings:
    def __init__(self, tferry, limit_s=120):
        self.tferry = tferry
        self.limit_s = limit_s

    def ask(self, *words):
        done = subprocess.run([self.tferry, *words], capture_output=True, text=True, timeout=self.limit_s, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"tferry {' '.join(words)[:200]}: rc {done.returncode}: {done.stderr.strip()[-500:]}")
        return done.stdout

    def rows(self, session, sql):
        return json.loads(self.ask("query", sql, session, "--format", "json"))["tables"][0]["rows"]

    def row(self, session, sql):
        return self.rows(session, sql)[0]

    def number(self, session, sql):
        """The value of `SELECT ... AS n`; None is unknown."""
        return self.row(session, sql)["n"]

    def quality(self, session):
        return self.ask("report", "quality", session)

    def losses(self, session):
        return self.rows(session, "SELECT what, reason, count, detail FROM loss ORDER BY what, detail")

    def counts(self, session):
        """Rows of each recorded table of events, and of accesses."""
        tables = (*EVENT_TABLES, "access")
        selects = ", ".join(f"(SELECT count(*) FROM \"{table}\") AS \"{table}\"" for table in tables)
        row = self.row(session, "SELECT " + selects)
        return {table: row[table] for table in tables}

    def join(self, session):
        """Calls and records of the program, and how many of both have no partner."""
        meta = {row["key"]: int(row["value"]) for row in
                self.rows(session, "SELECT key, value FROM meta WHERE key LIKE 'join.%'")}
        records_alone = self.number(session, "SELECT coalesce(sum(count), 0) AS n FROM loss WHERE what = 'activity' "
                                             "AND reason = 'no_partner'")
        calls, matched = meta["join.calls"], meta["join.matched_calls"]
        return {"calls": calls, "records": meta["join.records"], "calls_alone": calls - matched,
                "records_alone": records_alone, "mismatches": calls - matched + records_alone,
                "resynchronisations": meta["join.resynchronisations"]}

    def counter_window(self, session, name, device, start_ns, end_ns):
        """Sum of a counter over a window, samples at its edges in proportion, and the share of it that was sampled."""
        row = self.row(session,
                       "SELECT sum(value * covered / length) AS total, sum(covered) AS covered FROM ("
                       f"SELECT counter.value AS value, max(end_ns - start_ns, 1) AS length, "
                       f"min(end_ns, {end_ns}) * 1.0 - max(start_ns, {start_ns}) AS covered FROM counter "
                       f"JOIN string ON string.id = name_id WHERE string.value = '{name}' AND device_id = {device} "
                       f"AND start_ns < {end_ns} AND end_ns > {start_ns})")
        return row["total"] or 0.0, (row["covered"] or 0.0) / (end_ns - start_ns)
