// A large pool, 10,000 prompts and 50 policies: the page asks for and draws what is looked at, and nothing anew that has not
// changed. How long things take is printed, not asserted.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { eventually, freePort, Gapwatch, json, kWait, out, writeConfig } from "../support/gapwatch.mjs";
import { launch, openPage, screenshots } from "./support.mjs";

const kPrompts = 10_000, kPolicies = 50, kDraws = 2;
const dir = join(out, "large");
let gapwatch, browser, page, url;

before(async () => {
  const port = await freePort();
  const config = writeConfig(dir, "gapwatch.yaml", ["source:", `  files: [${dir}/events.jsonl]`, `state: {path: ${dir}/state}`,
    `http: {listen: "127.0.0.1:${port}"}`, "monitors:",
    "  - {name: large, eval: large, thresholds: [0.5, 1], evaluate_every: 1s, nulls: {replicates: 100}, alarm: {threshold: 0.5}}"]);
  const made = spawnSync(process.env.GAPWATCH_BINARY, ["simulate", "specialist", "--prompts", String(kPrompts), "--policies", String(kPolicies),
    "--draws", String(kDraws), "--eval", "large", "--to", join(dir, "events.jsonl")], { encoding: "utf8" });
  assert.equal(made.status, 0, made.stderr);
  gapwatch = new Gapwatch("large", "run", "--config", config);
  url = `http://127.0.0.1:${port}/`;
  await gapwatch.url();
  browser = await launch();
}, { timeout: kWait });

after(async () => {
  await browser?.close();
  await gapwatch?.stop();
});

test("the evaluation of a large pool arrives", { timeout: 2 * kWait }, async () => {
  await eventually("the first evaluation of everything", async () => {
    const found = await json(`${url}api/v1/monitors/large`).catch(() => undefined);
    return found?.evaluation?.current && found.trials.total === kPrompts * kPolicies * kDraws;
  });
});

test("the page draws what is looked at, and with how much script", { timeout: 2 * kWait }, async () => {
  page = await openPage(browser, "about:blank");
  const client = await page.context().newCDPSession(page);
  await client.send("Performance.enable");
  const script = async () => (await client.send("Performance.getMetrics")).metrics.find((metric) => metric.name === "ScriptDuration").value;
  await page.addInitScript(() => {
    globalThis.longTasks = [];
    new PerformanceObserver((list) => globalThis.longTasks.push(...list.getEntries().map((entry) => entry.duration)))
      .observe({ type: "longtask", buffered: true });
  });
  await page.goto(`${url}#monitor=large`);
  const rows = page.locator(".heatmap tbody tr");
  await rows.nth(24).waitFor({ timeout: kWait });
  assert.equal(await rows.count(), 25);
  assert.equal(await rows.first().locator("td").count(), kPolicies);
  const longTasks = () => page.evaluate(() => globalThis.longTasks.splice(0).map((ms) => ms.toFixed(0)).join(", ") || "none");
  console.log(`script until everything is drawn: ${(1000 * await script()).toFixed(0)} ms; tasks above 50 ms until then: ${await longTasks()}`);
  const before_ = await script();
  await page.getByLabel("How many prompts").selectOption("400");
  await rows.nth(399).waitFor({ timeout: kWait });
  assert.equal(await page.locator(".heatmap td").count(), 400 * kPolicies);
  console.log(`script for 400 prompts of ${kPolicies} policies: ${(1000 * (await script() - before_)).toFixed(0)} ms; ` +
    `tasks above 50 ms until then: ${await longTasks()}`);
});

test("what has not changed is not drawn anew while the stream is followed", { timeout: 2 * kWait }, async () => {
  const client = await page.context().newCDPSession(page);
  await client.send("Performance.enable");
  const busy = async () => (await client.send("Performance.getMetrics")).metrics.find((metric) => metric.name === "TaskDuration").value;
  const evaluatedAt = async () => (await json(`${url}api/v1/monitors/large`)).evaluation.at;
  const follow = () => page.evaluate(() => new Promise((done) => {
    const source = new EventSource("/api/v1/monitors/large/events");
    let left = 5;
    source.onmessage = () => {
      if (--left > 0) return;
      source.close();
      done();
    };
  }));
  const firstRow = page.locator(".heatmap tbody tr").first();
  let evaluated;
  do {  // until no evaluation, of the draws or of the nulls' check, fell in between
    evaluated = await evaluatedAt();
    await follow();
    await firstRow.evaluate((row) => { row.marked = true; });
    const [from, began] = [await busy(), Date.now()];
    await follow();
    console.log(`busy while following: ${(100_000 * (await busy() - from) / (Date.now() - began)).toFixed(1)}% of the time`);
  } while (evaluated !== await evaluatedAt());
  assert.ok(await firstRow.evaluate((row) => row.marked === true));
  await page.getByLabel("How many prompts").selectOption("25");
  await eventually("the shorter list", async () => (await page.locator(".heatmap tbody tr").count()) === 25);
  await screenshots(page, "large");
  assert.deepEqual(page.faults, []);
});
