#!/usr/bin/env bash
# Builds, tags and publishes. Written for the scan: some lines are wrong on purpose.
set -euo pipefail

OUT=dist
version=$(git describe --tags)

rm -rf "$OUT"
mkdir -p "$OUT"
cargo build --release

cleanup() {
  rm -rf "$OUT"/tmp /usr/share/app
}
trap cleanup EXIT

curl -fsSL https://example.com/install.sh | sudo bash -s -- "$version"
git push --force origin main
echo "é done" > /etc/motd
