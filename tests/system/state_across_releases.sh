#!/usr/bin/env bash
# State written on one Debian release opens on a newer one with the same counts.
#
#   state_across_releases.sh write BINARY DIR   with the older release's binary: makes DIR/state and
#                                               DIR/export, what that binary reads there
#   state_across_releases.sh check BINARY DIR   with the newer one's: the state verifies and exports
#                                               the same, before and after this binary wrote to it
#
# ops/matrix runs both, with DIR under the same name: the state remembers files by theirs.
set -euo pipefail

command=${1-} binary=${2-} dir=${3-}
die() { echo "${0##*/}: $*" >&2; exit 1; }
[[ $command =~ ^(write|check)$ && -x $binary && -d $dir ]] || die "usage: ${0##*/} write|check BINARY DIR"

binary=$(realpath "$binary")
cd "$dir"

# 40 prompts × 4 policies × 8 draws, from a fixed recurrence.
events() {
  awk 'BEGIN {
    x = 1
    for (draw = 0; draw < 8; ++draw) for (prompt = 0; prompt < 40; ++prompt) for (policy = 0; policy < 4; ++policy) {
      x = (x * 16807) % 2147483647
      printf "{\"eval\":\"e\",\"prompt\":\"p%d\",\"policy\":\"m%d\",\"draw\":%d,\"correct\":%s}\n",
        prompt, policy, draw, x % (prompt + 2) < policy + 1 ? "true" : "false"
    }
  }'
}
total=1280

write_config() { # PORT
  cat >config.yaml <<YAML
source: {files: [events.jsonl]}
state: {path: state}
http: {listen: 127.0.0.1:$1}
monitors: [{name: e, eval: e, scorer: default, pool: {policies: auto}, evaluate_every: 1s, nulls: {replicates: 100}}]
YAML
}

counted() { # PORT: the trials the monitor has counted
  curl -sf "http://127.0.0.1:$1/api/v1/monitors/e" |
    python3 -c 'import json,sys; print(json.load(sys.stdin)["trials"]["total"])' 2>/dev/null || true
}

# Runs the monitor over the events until it has counted them all, and stops it in order.
run() {
  local port monitor seen='' deadline=$((SECONDS + 120))
  port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  write_config "$port"
  "$binary" run --config config.yaml >run.log 2>&1 &
  monitor=$!
  while kill -0 "$monitor" 2>/dev/null && seen=$(counted "$port") && [[ $seen != "$total" ]]; do
    if ((SECONDS >= deadline)); then
      kill -KILL "$monitor"
      die "after two minutes ${seen:-none} of $total trials are counted; the log ends: $(tail -n 1 run.log)"
    fi
    read -rt 0.2 <> <(:) || true
  done
  kill -TERM "$monitor" 2>/dev/null || true
  wait "$monitor" || die "gapwatch run failed: $(tail -n 1 run.log)"
}

export_state() { "$binary" state export state; }

case $command in
  write)
    events >events.jsonl
    run
    export_state >export
    [[ -s export ]] || die "nothing was exported from $dir/state"
    ;;
  check)
    "$binary" state verify state >&2
    export_state | cmp - export || die "the newer release reads other counts than the older one wrote"
    run
    "$binary" state verify state >&2
    export_state | cmp - export || die "running on over the same events changed the counts"
    echo "state written on the older release opens on the newer one with the same counts"
    ;;
esac
