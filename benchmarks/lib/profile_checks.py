"""What a recording of a certain job has to hold, one function a case: facts in, (result, sentence) out.

result is "pass", "fail" or "unknown"; the sentence says why, with figures. No GPU and no session is needed here.
"""

CLOSE = 0.01


def verdict(wrong, good):
    """Fail with the first thing that is wrong, pass with `good` otherwise."""
    problems = [text for text in wrong if text]
    return ("fail", "; ".join(problems)) if problems else ("pass", good)


def told_of(losses, part):
    return any(part in (loss["detail"] or "") for loss in losses)


def far(a, b, share=CLOSE):
    return abs(a - b) > share * max(abs(a), abs(b), 1)


def budget(facts):
    """A job recorded while parking: the transfers are labelled ours, and waits are not part of kernel times."""
    return verdict([
        facts["rc"] != 0 and f"the job ended with {facts['rc']}",
        not facts["same_losses"] and "its losses are not the native ones",
        facts["own_out"] == 0 and "no copy out is labelled the runtime's",
        far(facts["own_out"], facts["parked"]) and
        f"copies out labelled ours make {facts['own_out']} bytes, the runtime parked {facts['parked']}",
        far(facts["own_in"], facts["fetched"]) and
        f"copies in labelled ours make {facts['own_in']} bytes, the runtime fetched {facts['fetched']}",
        facts["gates"] == 0 and "no wait was recorded apart from kernels",
        facts["kernel_time_ratio"] > 1.15 and
        f"the same kernels take {facts['kernel_time_ratio']:.3f} times as long as without a budget",
    ], f"{facts['own_out']} bytes out and {facts['own_in']} in are labelled ours; the same kernels take "
       f"{facts['kernel_time_ratio']:.3f} times as long as without a budget, while {facts['gates']} waits stand apart")


def beyond_the_card(facts):
    return verdict([
        facts["rc"] != 0 and f"the job ended with {facts['rc']}",
        not facts["finished"] and "it printed no losses",
        facts["footprint"] <= facts["card"] and
        f"its footprint of {facts['footprint']} bytes fits the card of {facts['card']}",
        facts["own_out"] == 0 and "no copy out is labelled the runtime's",
        facts["timed_kernels"] == 0 and "no kernel has times",
    ], f"a footprint of {facts['footprint']} bytes on a card of {facts['card']} was recorded: {facts['timed_kernels']} "
       f"kernels, {facts['own_out']} bytes out by the runtime")


def killed(facts):
    return verdict([
        facts["rc"] != -9 and f"tferry profile ended with {facts['rc']} instead of the job's signal 9",
        facts["timed_kernels"] == 0 and "the session has no kernel with times",
        facts["allocations"] == 0 and "the session has no allocation",
        not told_of(facts["losses"], "ended without closing it") and
        "the session does not say that the process ended without closing its spools",
    ], f"{facts['timed_kernels']} kernels and {facts['allocations']} allocations of a job killed in its step "
       f"{facts['step']} are there, and the session says what is missing")


def second_client(facts):
    wordless = facts["timed_kernels"] == 0 and not any(loss["what"] == "kernel" for loss in facts["losses"])
    seen = f"{facts['timed_kernels']} kernels by us, {facts['seen_by_torch']} GPU events by torch.profiler"
    return verdict([
        facts["rc"] != 0 and f"the job ended with {facts['rc']}",
        not facts["right"] and "its result is wrong",
        wordless and "no kernel has times, and the session does not say why",
    ], f"the job ran; {seen}" + (f"; torch.profiler: {facts['torch_error']}" if facts["torch_error"] else ""))


def no_preload(facts):
    return verdict([
        facts["rc"] != 0 and f"the job ended with {facts['rc']}",
        facts["timed_kernels"] == 0 and "no kernel has times",
        facts["allocations"] != 0 and f"{facts['allocations']} allocations were recorded without hooks",
        not told_of(facts["losses"], "--no-preload") and "the session does not say what --no-preload leaves out",
    ], f"{facts['timed_kernels']} kernels with times, and the session says what --no-preload leaves out")


def counters(facts):
    """PM counters are there, or the session tells the reason: then whether they could be had is unknown."""
    names = facts["counters"]
    if any(name.startswith("pcie__") for name in names):
        return "pass", "sampled: " + ", ".join(sorted(names))
    reasons = [loss["detail"] for loss in facts["losses"] if loss["what"] == "counter" and loss["detail"]]
    if reasons:
        return "unknown", "no PM counters, because: " + "; ".join(reasons)
    return "fail", "no PM counters, and the session does not say why"


def compare_known(known, recorded):
    """Differences between the sample's known answers and what hooks and CUPTI recorded; [] when there are none."""
    differences = []
    for what, expected in known.items():
        for source, found in recorded.items():
            if what in found and found[what] != expected:
                differences.append(f"{what}: {source} recorded {found[what]}, the sample makes {expected}")
    return differences
