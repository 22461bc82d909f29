# Sourced by the scripts of ops/: where things are, how to complain, how ccache is set.

set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
cache=${GAPWATCH_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/gapwatch}

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
die() { say "$@"; exit 1; }
usage_error() { say "$@"; exit 2; }

# The Debian release this machine runs, by number; nothing on any other system.
debian_release() {
  [[ -r /etc/os-release ]] || return 0
  (. /etc/os-release; if [[ ${ID:-} == debian ]]; then echo "${VERSION_ID:-}"; fi)
}

# A clone in another folder finds what an earlier one compiled: paths below the clone are hashed as
# relative ones, and a precompiled header by its content.
use_ccache() {
  export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1 CCACHE_COMPILERCHECK=content
  export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
}
