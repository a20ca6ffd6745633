"""What `--access pages` found in the layers sample against what its kernels do (samples/cuda/layers.cu)."""

MAY_TOUCH, READ, WRITE, READ_WRITE = 1, 2, 3, 4
PAGES = 6


def compare(touches, launched, hidden):
    """`touches`: rows of kernel name, kind, how, by_pointer, n, allocations; `launched`: launches by name. What differs, in words,
    and how much of what was touched has a direction (faults come in groups, and a record tells of one of a group)."""
    differences = []

    def found(kernel, **wanted):
        return sum(row["n"] for row in touches if kernel in row["name"] and row["how"] == PAGES
                   and all(row[key] in value for key, value in wanted.items()))

    def launches(kernel):
        return sum(n for name, n in launched.items() if kernel in name)

    def expect(what, right):
        if not right:
            differences.append(what)

    anything, known = (MAY_TOUCH, READ, WRITE, READ_WRITE), (READ, WRITE, READ_WRITE)
    for kernel in ("fill", "combine", "update_by_table", "sums"):
        expect(f"{kernel} was not launched", launches(kernel) > 0)
    # Layers also work on buffers of a few KiB, which share pages and are not told apart.
    expect("a layer touched fewer than two buffers for each launch",
           found("combine", kind=anything) >= 2 * launches("combine") * 3 // 4)
    expect("a fill read what it only writes", found("fill", kind=(READ, READ_WRITE)) == 0)
    expect("sums wrote first what they only read", found("sums_kernel", kind=(WRITE,)) == 0)
    expect("an update wrote first what it reads and changes", found("update_by_table", kind=(WRITE,), by_pointer=(1,)) == 0)
    by_table = [row for row in touches if "update_by_table" in row["name"] and row["how"] == PAGES and row["by_pointer"]]
    expect(f"updates reached {[row['allocations'] for row in by_table]} allocations by pointer, the table names {hidden}",
           bool(by_table) and max(row["allocations"] for row in by_table) == hidden)
    expect("not every update reached all weights of its table",
           sum(row["n"] for row in by_table) == hidden * launches("update_by_table"))
    for kernel in ("fill", "combine", "sums"):
        expect(f"{kernel} reached memory by pointers, and has none", found(kernel, kind=anything, by_pointer=(1,)) == 0)
    touched = sum(row["n"] for row in touches if row["how"] == PAGES)
    directed = sum(row["n"] for row in touches if row["how"] == PAGES and row["kind"] in known)
    return {"differences": differences, "touched": touched, "directed": directed}
