# Sourced by the scripts of ops/kafka/: the jars, and telling whether a broker is alive.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

kafka_version=$(sed -n 's:.*<kafka\.version>\(.*\)</kafka\.version>.*:\1:p' "$root/ops/kafka/pom.xml")
# Another pom.xml is another folder, so an older one's jars never mix in.
jars=$cache/kafka-$kafka_version-$(cksum <"$root/ops/kafka/pom.xml" | cut -d' ' -f1)

# The jars are fetched beside their final place and moved there when complete.
fetch_jars() {
  [[ ! -d $jars ]] || return 0
  command -v mvn >/dev/null || die "no mvn to fetch Kafka with; run ops/setup"
  mkdir -p "$cache" || die "cannot make $cache; set GAPWATCH_CACHE to a folder that can be written"
  (
    flock 9
    [[ ! -d $jars ]] || exit 0
    say "fetching Kafka $kafka_version into $jars"
    rm -rf "$jars".part.*
    part=$(mktemp -d "$jars.part.XXXXXX")
    mvn -q -B -Dstyle.color=never -f "$root/ops/kafka/pom.xml" dependency:copy-dependencies \
      -DoutputDirectory="$part" >&2 || die "Maven could not fetch Kafka $kafka_version; its messages are above"
    chmod 755 "$part"
    mv -T "$part" "$jars"
  ) 9>"$cache/kafka.lock"
}

java_quiet() { java -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp "$jars/*" "$@"; }

# The time a process started, in ticks since boot: with it a process id means one process for ever.
# Nothing for a process that is gone or only waits to be reaped.
started_at() {
  local stat
  { read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 0
  set -- ${stat##*) }
  [[ $1 == Z || $1 == X ]] || echo "${20}"
}

alive() { [[ -n $2 && $(started_at "$1") == "$2" ]]; }

# The broker of a folder, as "PID STARTED_AT"; nothing when none runs.
running_broker() {
  local pid started
  { read -r pid started <"$1/broker.pid"; } 2>/dev/null || return 0
  if alive "$pid" "$started"; then echo "$pid $started"; fi
}

# Sleeps without a process: reads for that long from a pipe in which nothing ever is.
exec {never}<> <(:)
pause() { read -rt "$1" -u "$never" || true; }

# wait_gone SECONDS PID STARTED_AT: fails when it is still there after that long.
wait_gone() {
  local deadline=$((SECONDS + $1))
  while alive "$2" "$3"; do
    ((SECONDS < deadline)) || return 1
    pause 0.05
  done
}
