"""ops/bench: gapwatch run against a bare consumer, on one topic of a real broker.

Wall time of the monitor is from its first record counted to its last; CPU time is all of the process's, start,
sums, checkpoints and scrapes included, the null tests not (ops/bench-nulls has them). `counts` is the monitor without
evidence, `run` with it. They take turns, and the medians and their ratios are printed.
"""
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

ROUNDS = 3


def run(*arguments):
    return subprocess.run([str(a) for a in arguments], check=True, capture_output=True, text=True).stdout


def bare(build, bootstrap, topic, events):
    records, size, wall, cpu, peak = run(build / "tests/bench/bare_consumer", bootstrap, topic, events).split()
    return {"wall": float(wall), "cpu": float(cpu), "peak_mib": int(peak) / 1024, "bytes": int(size)}


def scrape(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        return answer.read().decode()


def counted(text):
    return sum(float(m.group(1)) for m in re.finditer(r'^gapwatch_events_total\{result="(?:applied|duplicate)"\} (\S+)$', text, re.M))


def process_figures(pid):
    stat = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    ticks = os.sysconf("SC_CLK_TCK")
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return (int(stat[11]) + int(stat[12])) / ticks, int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) / 1024


def monitor(build, bootstrap, topic, events, home, evidence):
    config = home / "gapwatch.yaml"
    config.write_text(
        f"source: {{kafka: {{brokers: \"{bootstrap}\", topics: [{topic}], group: g{time.monotonic_ns()}, queue: 512MiB}}}}\n"
        f"state: {{path: {home / 'state'}}}\nhttp: {{listen: \"127.0.0.1:0\"}}\n"
        "monitors: [{name: m, eval: simulated, evaluate_every: 1h, "
        f"evidence: {{enabled: {'true' if evidence else 'false'}}}}}]\n")
    log = open(home / "log", "w")
    process = subprocess.Popen([build / "app/gapwatch", "run", "--config", config], stderr=log)
    try:
        while not (port := re.search(r"on port (\d+)", (home / "log").read_text())):
            time.sleep(0.01)
        start = None
        while True:
            seen = counted(scrape(port.group(1)))
            if seen > 0 and start is None:
                start, first = time.monotonic(), seen
            if seen >= events:
                break
            time.sleep(0.05)
        wall = time.monotonic() - start
        cpu, peak = process_figures(process.pid)
        rate = (events - first) / wall
        report = json.load(urllib.request.urlopen(f"http://127.0.0.1:{port.group(1)}/api/v1/monitors/m"))
        return {"wall": events / rate, "cpu": cpu, "peak_mib": peak, "trials": report["trials"]["total"]}
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def main():
    root, events = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    build = root / "build/bench"
    with tempfile.TemporaryDirectory(prefix="gapwatch-bench-") as scratch:
        scratch = pathlib.Path(scratch)
        kafka = scratch / "kafka"
        bootstrap = run(root / "ops/kafka/start", kafka, "--parent", os.getpid()).strip().split("=", 1)[1]
        try:
            policies, draws = 20, 250
            run(build / "app/gapwatch", "simulate", "identical", "--prompts", max(1, events // (policies * draws)), "--policies", policies,
                "--draws", draws, "--traffic", "random", "--to", f"kafka://{bootstrap}/bench")
            rounds = {"bare": [], "counts": [], "run": []}
            for number in range(ROUNDS):
                rounds["bare"].append(bare(build, bootstrap, "bench", events))
                for name in ("counts", "run"):
                    home = scratch / f"{name}-{number}"
                    home.mkdir()
                    rounds[name].append(monitor(build, bootstrap, "bench", events, home, name == "run"))
        finally:
            run(root / "ops/kafka/stop", "--kill", kafka)
    median = {name: {key: statistics.median(r[key] for r in result) for key in ("wall", "cpu", "peak_mib")}
              for name, result in rounds.items()}
    print(f"{events} events of {rounds['bare'][0]['bytes'] / events:.0f} bytes, medians of {ROUNDS} rounds in turn")
    for name, figures in median.items():
        print(f"  {name:6} {events / figures['wall'] / 1e6:6.2f} M events/s   {events / figures['cpu'] / 1e6:6.2f} M events/CPU-s   "
              f"{figures['cpu'] / events * 1e6:5.2f} us CPU an event   peak {figures['peak_mib']:.0f} MiB")
    for name, other in (("counts", "bare"), ("run", "bare"), ("run", "counts")):
        print(f"  {name}/{other} wall rate {median[other]['wall'] / median[name]['wall']:.2f}, CPU {median[name]['cpu'] / median[other]['cpu']:.2f}")
    print(f"  trials counted {rounds['run'][0]['trials']}")
    sys.stdout.flush()
    subprocess.run([build / "tests/bench/decode_bench"], check=True)
    subprocess.run([build / "tests/bench/ledger_bench"], check=True)


main()
