"""ops/soak --hostile: a stream that tries to take the monitor down. Memory stays within bounds, every refusal has a reason, and
the counts of the honest events are those without it.

Sent: 20,000 honest events, half of them before and half after POLICIES invented policies and PROMPTS invented prompts (ten times
what limits.prompts allows) in evals of their own; among them all the time messages of 10 MB, deeply nested JSON, bytes that are no UTF-8, negative and huge numbers, times far in the future.
"""
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time
import urllib.request


def scrape(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        return answer.read().decode()


def honest(n):
    chance = random.Random(n)
    return {"eval": "honest", "prompt": f"p{n % 200}", "policy": f"m{n // 200 % 5}", "draw": n // 1000, "correct": chance.random() < 0.4}


ODD = [
    b'{"eval":"honest","prompt":"p1","policy":"m1","draw":-1,"correct":true}',
    b'{"eval":"honest","prompt":"p1","policy":"m1","draw":1e400,"correct":true}',
    b'{"eval":"honest","prompt":"p1","policy":"m1","draw":123456789012345678901234567890,"correct":true}',
    b'{"eval":"honest","prompt":"p1","policy":"m1","draw":5,"correct":-7}',
    b'{"eval":"honest","prompt":"p1","policy":"m1","successes":-1,"trials":4}',
    b'{"eval":"honest","prompt":"p1","policy":"m1","successes":5,"trials":4}',
    b'{"eval":"honest","prompt":"p1","policy":"m1","successes":1,"trials":99999999999}',
    b'{"eval":"honest","prompt":"p1","policy":"m1","draw":5,"correct":true,"ts":-5}',
    b'{"eval":"honest","prompt":"p1","policy":"m1","draw":5,"correct":true,"ts":1e300}',
    b'{"eval":"honest","prompt":"\xff\xfe","policy":"m1","draw":5,"correct":true}',
    b'{"eval":"honest","prompt":"p1","policy":"m1","draw":5,"correct":true,"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    b"[" * 500_000,
    b'{"a":' * 100_000,
    b"\x00" * 1000,
    b'{"eval":"honest","prompt":"' + b"p" * 10_000_000 + b'","policy":"m1","draw":5,"correct":true}',
    b'{"eval":"honest","prompt":"p1","policy":"m1","draw":5,"correct":true,"pad":"' + b"x" * 10_000_000 + b'"}',
]
# Read, and of an eval of its own: the year 9999.
FUTURE = b'{"eval":"future","prompt":"p1","policy":"m1","draw":0,"correct":true,"ts":253402300799000}'


def write(stream, policies, prompts):
    total = 20_000 + policies + prompts
    sent = 0
    odd_every = max(1, total // (3 * len(ODD)))
    for n in range(total):
        if n % odd_every == 0:
            stream.write(ODD[n // odd_every % len(ODD)] + b"\n")
            sent += 1
        if n < 10_000 or n >= total - 10_000:
            stream.write(json.dumps(honest(n if n < 10_000 else n - policies - prompts)).encode() + b"\n")
        elif n < 10_000 + policies:
            stream.write(b'{"eval":"crowd","prompt":"p","policy":"x%d","draw":0,"correct":true}\n' % n)
        else:
            stream.write(b'{"eval":"wide","prompt":"q%d","policy":"m","draw":0,"correct":true}\n' % n)
        sent += 1
    stream.write(FUTURE + b"\n")
    return sent + 1


def value(text, name):
    found = re.search("^" + re.escape(name) + r" (\S+)$", text, re.M)
    return float(found.group(1)) if found else 0.0


def main():
    program, policies, prompts, bound = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    with tempfile.TemporaryDirectory() as folder:
        home = pathlib.Path(folder)
        (home / "gapwatch.yaml").write_text(
            f"source: {{stdin: true}}\nstate: {{path: {home / 'state'}}}\nhttp: {{listen: \"127.0.0.1:0\"}}\n"
            f"limits: {{prompts: {max(prompts // 10, 1000)}}}\nmonitors: [{{name: m, eval: honest, evaluate_every: 1h}}]\n")
        with open(home / "log", "w") as log:
            monitor = subprocess.Popen([program, "run", "--config", home / "gapwatch.yaml"], stdin=subprocess.PIPE, stderr=log)
        while not (port := re.search(r"on port (\d+):", (home / "log").read_text())):
            time.sleep(0.05)
        sent = write(monitor.stdin, policies, prompts)
        monitor.stdin.close()
        while True:
            text = scrape(port.group(1))
            done = sum(float(n) for n in re.findall(r'^gapwatch_events_total\{result="[a-z]+"\} (\S+)$', text, re.M))
            if done >= sent:
                break
            time.sleep(0.5)
        peak = int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{monitor.pid}/status").read_text()).group(1)) // 1024
        monitor.terminate()
        if monitor.wait(timeout=300) != 0:
            sys.exit((home / "log").read_text())
        out = subprocess.run([program, "state", "export", home / "state"], check=True, stdout=subprocess.PIPE).stdout
        counted = {line for line in out.splitlines() if b'"eval":"honest"' in line}
        got = {(e["prompt"], e["policy"], e["draw"], e["correct"]) for e in map(json.loads, counted)}
        truth = {(e["prompt"], e["policy"], e["draw"], e["correct"]) for e in map(honest, range(20_000))}
        for reason, count in re.findall(r'^gapwatch_rejected_total\{reason="([a-z_0-9]+)"\} (\S+)$', text, re.M):
            print(f"  {reason}: {float(count):.0f}")
        print(f"{sent} records, peak {peak} MiB (allowed {bound}); honest counts {'exact' if got == truth else 'WRONG'}")
        if got != truth or peak > bound:
            sys.exit(f"{len(truth - got)} missing, {len(got - truth)} extra: {sorted(got - truth)[:5]}")


main()
