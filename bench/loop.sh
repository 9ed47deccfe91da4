#!/usr/bin/env bash
# The loop that the poller replaces, as such gates are written: for each leg one curl to the engine and four jq reads.
# loop.sh URL TICKS STATE_FILE...   The leg's id is the name of the folder that its state file lies in.
set -euo pipefail

url=$1
ticks=$2
shift 2

for ((tick = 0; tick < ticks; tick++)); do
  for state in "$@"; do
    folder=${state%/*}
    phase=$(curl --silent --fail "$url/workloads/${folder##*/}" | jq --raw-output .phase)
    reason=$(jq --raw-output .stop_reason "$state")
    crashes=$(jq --raw-output .crash_count "$state")
    finished=$(jq --raw-output .close_sequence_done "$state")
    echo "${folder##*/} $phase $reason $crashes $finished"
  done
done
