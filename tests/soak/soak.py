"""ops/soak: a monitor that is killed, and two that share a group, end in the counts of the stream.

deaths   one instance, killed with SIGKILL at a random instant, KILLS times; most of the deaths fall while it counts,
         for the stream goes on until the last.
moves    two instances of one group, each with its own state folder. Partitions go to and fro as the second comes and
         goes under load; it is told to stop or killed in turns, and the broker is stopped and started twice.

The truth is the stream itself: every (prompt, policy, draw) once, with its outcome. Compared to it are the
draws in the exported state folders, and their number to the trials that the running monitors show together.
"""
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMIT = 600  # seconds for anything that must come about


def until(what, happened, now=lambda: "nothing"):
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        value = happened()
        if value:
            return value
        time.sleep(0.05)
    sys.exit(f"soak: {what} did not come about in {LIMIT} s; there is {now()}")


class Broker:
    def __init__(self, home):
        self.home = home
        self.start()

    def start(self):
        run = subprocess.run([ROOT / "ops/kafka/start", "--parent", str(os.getpid()), self.home], check=True, capture_output=True,
                             text=True)
        self.address = run.stdout.strip().removeprefix("bootstrap=")

    def topic(self, name):
        subprocess.run([ROOT / "ops/kafka/topic", self.home, name, "--partitions", "6"], check=True, capture_output=True)

    def stop(self, *options):
        subprocess.run([ROOT / "ops/kafka/stop", *options, self.home], check=True, capture_output=True)


class Monitor:
    def __init__(self, program, home, broker, topic, name):
        self.program, self.home, self.lives, self.process = program, home / name, 0, None
        self.home.mkdir()
        (self.home / "gapwatch.yaml").write_text(
            f"source: {{kafka: {{brokers: \"{broker.address}\", topics: [{topic}], group: {topic}, instance: {name}, "
            f"session_timeout: 6s}}}}\n"
            f"state: {{path: {self.home / 'state'}, checkpoint_every: 20ms, cache: 1MiB}}\nhttp: {{listen: \"127.0.0.1:0\"}}\n"
            "monitors: [{name: m, eval: soak, evaluate_every: 1s, nulls: {replicates: 20}}]\n")

    def start(self):
        self.lives += 1
        self.log = self.home / f"log-{self.lives}"
        with open(self.log, "w") as log:
            self.process = subprocess.Popen([self.program, "run", "--config", self.home / "gapwatch.yaml"], stderr=log)

    def port(self):
        def said():
            if self.process.poll() is not None:
                sys.exit(f"soak: the monitor ended by itself:\n{self.log.read_text()}")
            return re.search(r"on port (\d+):", self.log.read_text())
        return until("a port", said).group(1)

    def kill(self, how):
        self.process.send_signal(how)
        status = self.process.wait(timeout=LIMIT)
        if how == signal.SIGTERM and status != 0:
            sys.exit(f"soak: a clean stop ended with status {status}:\n{self.log.read_text()}")

    def shown(self):
        """Trials on the partitions held."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port()}/api/v1/monitors/m", timeout=60) as answer:
                return json.load(answer)["trials"]["total"]
        except urllib.error.HTTPError:
            return 0

    def export(self):
        draws = set()
        out = subprocess.run([self.program, "state", "export", self.home / "state"], check=True, capture_output=True, text=True).stdout
        for line in out.splitlines():
            event = json.loads(line)
            draws.add((event["prompt"], event["policy"], event["draw"], event["correct"]))
        return draws


def stream(path, prompts, policies, draws):
    """Writes the events; answers them."""
    chance = random.Random(3)
    truth = {(f"p{p}", f"policy-{m}", d, chance.random() < 0.2 + 0.1 * m) for p in range(prompts) for m in range(policies)
             for d in range(draws)}
    events = sorted(truth)
    chance.shuffle(events)
    with open(path, "w") as out:
        for prompt, policy, draw, correct in events:
            out.write(json.dumps({"eval": "soak", "prompt": prompt, "policy": policy, "draw": draw, "correct": correct}) + "\n")
    return truth


def replay(program, path, broker, topic, rate):
    log = open(path.parent / "replay.log", "w")
    return subprocess.Popen([program, "replay", path, "--to", f"kafka://{broker.address}/{topic}", "--rate", str(rate)], stderr=log)


def verify(name, monitors, truth):
    counted = set().union(*(monitor.export() for monitor in monitors))
    if counted != truth:
        sys.exit(f"soak: {name}: {len(truth - counted)} draws are missing, {len(counted - truth)} are not of the stream")
    print(f"{name}: exact, {len(truth)} draws", flush=True)


def deaths(program, home, broker, kills):
    truth = stream(home / "deaths.jsonl", 300, 5, 60)
    monitor = Monitor(program, home, broker, "deaths", "one")
    broker.topic("deaths")
    sender = replay(program, home / "deaths.jsonl", broker, "deaths", len(truth) / (0.4 * kills))
    chance = random.Random(5)
    for _ in range(kills):
        monitor.start()
        if chance.random() < 0.7:  # else at any instant of its start, too
            monitor.port()
        time.sleep(chance.random() * 0.4)
        monitor.kill(signal.SIGKILL)
    if sender.wait() != 0:
        sys.exit(f"soak: the stream could not be sent:\n{(home / 'replay.log').read_text()}")
    monitor.start()
    until("every event counted", lambda: monitor.shown() == len(truth))
    monitor.kill(signal.SIGTERM)
    verify(f"{kills} deaths", [monitor], truth)


def moves(program, home, broker, rounds):
    truth = stream(home / "moves.jsonl", 300, 5, 60)
    first, second = (Monitor(program, home, broker, "moves", name) for name in ("first", "second"))
    broker.topic("moves")
    sender = replay(program, home / "moves.jsonl", broker, "moves", len(truth) / (6 * rounds))
    first.start()
    first.port()
    chance = random.Random(7)
    for turn in range(rounds):
        second.start()
        until("partitions at the second", lambda: second.port() and re.search("partition moves/", second.log.read_text()))
        time.sleep(2 * chance.random())
        if turn in (rounds // 3, 2 * rounds // 3):
            broker.stop()
            time.sleep(2 * chance.random())
            broker.start()
        leaving = first if turn % 4 == 3 else second
        leaving.kill(signal.SIGKILL if turn % 2 else signal.SIGTERM)
        if leaving is first:
            first, second = second, first
    second.start()
    if sender.wait() != 0:
        sys.exit(f"soak: the stream could not be sent:\n{(home / 'replay.log').read_text()}")
    until("every event counted, once", lambda: first.shown() + second.shown() == len(truth),
          lambda: (first.shown(), second.shown(), len(truth), first.log.read_text()[-3000:], second.log.read_text()[-3000:]))
    for monitor in (first, second):
        monitor.kill(signal.SIGTERM)
    verify(f"{rounds} moves", [first, second], truth)


def main():
    program, kills, rounds = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    with tempfile.TemporaryDirectory() as folder:
        home = pathlib.Path(folder)
        broker = Broker(home / "kafka")
        try:
            if kills:
                deaths(program, home, broker, kills)
            if rounds:
                moves(program, home, broker, rounds)
        finally:
            broker.stop("--kill")


main()
