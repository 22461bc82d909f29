// gapwatch and other programs as child processes of a test in Node, and waiting for what they do in their own time.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";

export const out = process.env.GAPWATCH_OUT;  // for what a test leaves

export const kWait = 120_000;  // for what other processes do in their own time

// Asks until the answer is neither undefined nor false.
export async function eventually(what, ask) {
  const end = Date.now() + kWait;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer;
    if (Date.now() > end) throw new Error(`waited in vain for ${what}`);
    await new Promise((go) => setTimeout(go, 50));
  }
}

export function freePort() {
  return new Promise((done, fail) => {
    const server = createServer();
    server.on("error", fail);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}

// One process; what it says goes to a file.
export class Program {
  constructor(name, command, ...options) {
    this.log = join(out, `${name}.log`);
    const log = openSync(this.log, "a");
    const before = readFileSync(this.log, "utf8").length;
    this.process = spawn(command, options, { stdio: ["ignore", log, log], cwd: out });
    closeSync(log);
    this.ended = new Promise((done) => this.process.on("exit", done));
    this.said = () => readFileSync(this.log, "utf8").slice(before);
  }

  async stop(signal = "SIGTERM") {
    if (this.process.exitCode === null && this.process.signalCode === null) this.process.kill(signal);
    await this.ended;
  }
}

export class Gapwatch extends Program {
  constructor(name, ...options) {
    super(name, process.env.GAPWATCH_BINARY, ...options);
  }

  // Once it has said on which port it listens.
  async url() {
    const port = await eventually("the port", () => {
      assert.equal(this.process.exitCode, null, this.said());
      return /127\.0\.0\.1:(\d+)\/|on port (\d+)/.exec(this.said())?.slice(1).find(Boolean);
    });
    return `http://127.0.0.1:${port}/`;
  }
}

export async function json(url) {
  const response = await fetch(url);
  return response.ok ? response.json() : undefined;
}

export function writeConfig(dir, name, lines) {
  mkdirSync(dir, { recursive: true });
  const path = join(dir, name);
  writeFileSync(path, lines.join("\n") + "\n");
  return path;
}

// The same numbers on every run.
export function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 4_294_967_296;
  };
}
