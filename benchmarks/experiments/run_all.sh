#!/bin/sh
# run_all.sh OUT [BINARIES]: runs every GPU experiment, each in a process of its own under a time limit, one after
# another (those that take no times run side by side), and writes OUT/experiments.json, OUT/experiments.log and the
# allocation logs OUT/alloc_fp32.bin.gz and OUT/alloc_bf16.bin.gz. BINARIES (default: this folder) holds
# tferry-experiments and libtferry_exp_*.so; Python is $PYTHON (default python3) with torch. The whole run ends within
# $LIMIT seconds (default 470); what was found until then is kept.
set -u
if [ $# -lt 1 ]; then
  echo "usage: run_all.sh OUT [BINARIES]" >&2
  exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1" || exit 2
out=$(cd "$1" && pwd)
bin=$(cd "${2:-$here}" && pwd) || exit 2
python=${PYTHON:-python3}
limit=${LIMIT:-470}
started=$(date +%s)
parts=$(mktemp -d)
trap 'rm -rf "$parts"' EXIT
log=$out/experiments.log
export CUDA_CACHE_DISABLE=1 PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
: >"$log"

say() { echo "[$(($(date +%s) - started)) s] $*" | tee -a "$log"; }
merge() { "$python" "$here/merge.py" "$parts" "$out/experiments.json" >>"$log" 2>&1; }

# limited SECONDS NAME COMMAND...: output to the part's own log, exit code to its own file.
limited() {
  seconds=$1 name=$2
  shift 2
  left=$((limit - ($(date +%s) - started)))
  [ "$left" -lt "$seconds" ] && seconds=$left
  if [ "$seconds" -lt 5 ]; then
    echo "not run: no time left" >"$parts/$name.rc"
    return
  fi
  timeout -k 5 "$seconds" "$@" >"$parts/$name.log" 2>&1
  echo $? >"$parts/$name.rc"
}

# done_with NAME...: logs gathered, report renewed.
done_with() {
  for name in "$@"; do
    say "$name: exit $(cat "$parts/$name.rc")"
    cat "$parts/$name.log" >>"$log" 2>/dev/null
    grep -h -i -E 'error' "$parts/$name.log" 2>/dev/null | cut -c1-300 | head -5
  done
  merge
}

native() {
  say "$2 ..."
  limited "$1" "$2" "$bin/tferry-experiments" "$2" "$parts/$2.json"
  done_with "$2"
}

gates() {
  say "gates_$2 ..."
  limited "$1" "gates_$2" "$python" "$here/gates.py" "$bin/libtferry_exp_gates.so" "$2" "$parts/gates_$2.json"
  done_with "gates_$2"
}

cupti_folder() {
  "$python" - <<'PYTHON'
import glob, os, sysconfig
places = [sysconfig.get_paths()["purelib"] + "/nvidia/*/lib", "/usr/local/cuda/extras/CUPTI/lib64",
          "/usr/local/cuda/lib64", "/usr/local/cuda/targets/x86_64-linux/lib"]
found = [os.path.dirname(p) for place in places for p in sorted(glob.glob(place + "/libcupti.so.13"))]
print(found[0] if found else "")
PYTHON
}

nvidia-smi >>"$log" 2>&1
native 70 set_access
native 50 remap_under_load
native 40 interleave
gates 70 fp32
gates 50 bf16
native 50 copy_pieces
native 45 scan
native 25 pdl_alias

say "pytorch_alloc, capture, join (side by side) ..."
cupti=$(cupti_folder)
say "libcupti.so.13 in: ${cupti:-not found}"
for precision in fp32 bf16; do
  limited 90 "pytorch_alloc_$precision" env PYTORCH_NO_CUDA_MEMORY_CACHING=1 \
    LD_PRELOAD="$bin/libtferry_exp_alloc_log.so" "$python" "$here/pytorch_alloc.py" "$precision" \
    "$out/alloc_$precision.bin.gz" "$parts/pytorch_alloc_$precision.json" &
  limited 90 "join_$precision" env LD_LIBRARY_PATH="$cupti${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
    CUDA_INJECTION64_PATH="$bin/libtferry_exp_cupti_log.so" LD_PRELOAD="$bin/libtferry_exp_launch_log.so" \
    "$python" "$here/join.py" "$bin/libtferry_exp_cupti_log.so" "$precision" "$parts/join_$precision.json" &
done
for policy in never reuse; do
  limited 90 "capture_$policy" env PYTORCH_NO_CUDA_MEMORY_CACHING=1 \
    LD_PRELOAD="$bin/libtferry_exp_vmm_cache.so" "$python" "$here/capture.py" "$policy" \
    "$parts/capture_$policy.json" &
done
limited 90 capture_native "$python" "$here/capture.py" native "$parts/capture_native.json" &
limited 90 capture_driver env PYTORCH_NO_CUDA_MEMORY_CACHING=1 "$python" "$here/capture.py" driver \
  "$parts/capture_driver.json" &
wait
done_with pytorch_alloc_fp32 pytorch_alloc_bf16 join_fp32 join_bf16 capture_never capture_reuse capture_native \
  capture_driver

native 100 host_alloc
nvidia-smi >>"$log" 2>&1
say "results in $out/experiments.json"
