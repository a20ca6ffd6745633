#!/bin/sh
# pack.sh BUILD [TARGET]: collects what run_all.sh needs, built in folder BUILD (target tferry_experiments), into TARGET
# (default: .carry/experiments of this checkout, which git ignores) for a GPU machine that cannot build it.
set -eu
if [ $# -lt 1 ]; then
  echo "usage: pack.sh BUILD [TARGET]" >&2
  exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$(cd "$1" && pwd)
target=${2:-$root/.carry/experiments}
mkdir -p "$target"
if [ $# -lt 2 ]; then echo '*' >"$root/.carry/.gitignore"; fi
cp "$build"/bin/tferry-experiments "$build"/lib/libtferry_exp_*.so "$target"/
strip -g "$target"/tferry-experiments "$target"/libtferry_exp_*.so
cp "$here"/*.py "$here"/run_all.sh "$target"/
chmod +x "$target"/run_all.sh
du -sh "$target"
