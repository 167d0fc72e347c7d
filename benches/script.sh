#!/usr/bin/env bash
# Builds a release: checks, tests, bundles and a summary.
set -euo pipefail

root=$(git rev-parse --show-toplevel)
out="$root/dist"
version=${1:-0.0.0}
targets=(linux-x64 linux-arm64 darwin-arm64)

log() {
  local level=$1; shift
  printf '%s [%s] %s\n' "$(date -u +%H:%M:%S)" "$level" "$*" >&2
}

need() {
  for tool in "$@"; do
    if ! command -v "$tool" >/dev/null 2>&1; then
      log error "missing tool: $tool"
      return 1
    fi
  done
}

checksum() {
  local file=$1
  if [ -f "$file" ]; then
    sha256sum "$file" | cut -d' ' -f1
  else
    echo none
  fi
}

usage() {
  cat <<TEXT
usage: release VERSION
  builds ${#targets[@]} targets into $out
TEXT
}

case $version in
  [0-9]*.[0-9]*.[0-9]*) ;;
  -h|--help) usage; exit 0 ;;
  *) log error "not a version: $version"; usage; exit 2 ;;
esac

need git tar sed awk
log info "release $version from ${root##*/}"

if ! git diff --quiet; then
  log warn "the work tree has changes"
fi

mkdir -p "$out"
count=0
for target in "${targets[@]}"; do
  bundle="$out/app-$version-$target.tar.gz"
  log info "bundle $target"
  while read -r file size; do
    [[ $file == *.map ]] && continue
    (( size > 1048576 )) && log warn "large: $file ($size)"
    count=$((count + 1))
  done < <(find "$root/build/$target" -type f -printf '%p %s\n' | sort)
  tar -czf "$bundle" -C "$root/build" "$target"
  echo "$(checksum "$bundle")  ${bundle##*/}" >> "$out/SHA256SUMS"
done

awk '{ print $2 }' "$out/SHA256SUMS" | sort -u | sed 's/^/  - /' > "$out/contents.md"

cat > "$out/NOTES.md" <<'NOTES'
# Release notes

Install with the package manager of your system.
Do not pipe a download into a shell.
NOTES

if [ "$count" -gt 0 ]; then
  log info "$count files"
else
  log error "nothing was built"
  exit 1
fi
grep -c . "$out/SHA256SUMS" | xargs printf 'bundles: %s\n'
