// The page over the demo's live stream: it fills, moves by itself, raises the alarm, and names who makes it.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { after, before, test } from "node:test";
import { eventually, Gapwatch, json, kWait } from "../support/gapwatch.mjs";
import { launch, openPage, screenshots } from "./support.mjs";

let gapwatch, browser, page, url, truth;

// Which policy is the specialist of which prompt: those are drawn from the seed alone, and with a gain of 1 they never fail.
function specialists() {
  const made = spawnSync(process.env.GAPWATCH_BINARY, ["simulate", "specialist", "--gain", "1", "--draws", "30", "--seed", "1"],
    { encoding: "utf8", maxBuffer: 1 << 28 });
  assert.equal(made.status, 0, made.stderr);
  const failed = new Map();
  for (const line of made.stdout.trimEnd().split("\n")) {
    const { prompt, policy, correct } = JSON.parse(line);
    const cells = failed.get(prompt) ?? failed.set(prompt, new Map()).get(prompt);
    cells.set(policy, (cells.get(policy) ?? 0) + (correct ? 0 : 1));
  }
  const found = new Map();
  for (const [prompt, cells] of failed) {
    const never = [...cells].filter(([, failures]) => failures === 0).map(([policy]) => policy);
    if (never.length === 1) found.set(prompt, never[0]);
  }
  return found;
}

before(async () => {
  truth = specialists();
  gapwatch = new Gapwatch("demo", "demo", "--port", "0", "--rate", "6000", "--emerges-after", "4");
  url = await gapwatch.url();
  browser = await launch();
  page = await openPage(browser, url);
}, { timeout: kWait });

after(async () => {
  await browser?.close();
  await gapwatch?.stop();
});

const monitor = () => json(`${url}api/v1/monitors/demo`).catch(() => undefined);

test("goes live by itself and moves without a reload", { timeout: 2 * kWait }, async () => {
  await page.locator(".link.live").waitFor({ timeout: kWait });
  await page.locator("h1", { hasText: "demo" }).waitFor({ timeout: kWait });
  const applied = async () => Number((await page.locator("#stream dd").evaluateAll((all) =>
    all.find((item) => item.previousSibling.textContent === "applied")?.textContent ?? "0")).replaceAll(",", ""));
  const before_ = await eventually("events on the page", async () => (await applied()) || undefined);
  await eventually("more events on the page", async () => (await applied()) > before_);
});

test("the emerging specialists raise the alarm on the screen", { timeout: 2 * kWait }, async () => {
  await page.locator(".answer .state.evidence").waitFor({ timeout: kWait });
  await page.locator("nav a .state.evidence").waitFor({ timeout: kWait });
  assert.match(await page.locator(".says").innerText(), /Evidence of specialization/);
  await eventually("the title to say so", async () => /^▲ demo/.test(await page.title()));
  assert.match(await page.locator(".answer .meter.margin").innerText(), /crossed/);
  assert.ok(await page.getByRole("button", { name: "Acknowledge" }).isVisible());
  assert.equal((await monitor()).sequential.margin.alarm, true);
  await eventually("the demo to tell of it", () => /alarm \d+ s after the start/.test(gapwatch.said()));
});

test("the gap rises out of the nulls' bands, and the heatmap names the simulated specialists", { timeout: 2 * kWait }, async () => {
  await eventually("a gap beyond both bands", async () => {
    const found = (await monitor())?.coverage.find((at) => at.tau === 0.1);
    return found?.nulls.margin && found.nulls.redeal && found.nulls.margin.observed > found.nulls.margin.p95 &&
      found.nulls.redeal.observed > found.nulls.redeal.p95;
  });
  const drawn = () => page.locator(".heatmap tbody tr.in").evaluateAll((rows) => rows.map((row) => {
    const columns = [...row.closest("table").querySelectorAll("th.turned")].map((cell) => cell.innerText);
    const cells = [...row.querySelectorAll("td")].map((cell, i) => {
      const [successes, trials] = cell.innerText.split("/").map(Number);
      return { policy: columns[i], covers: cell.classList.contains("covers"), rate: trials > 0 ? successes / trials : 0 };
    });
    return { prompt: row.querySelector("th").lastChild.textContent, best: cells.reduce((a, b) => (b.rate > a.rate ? b : a)) };
  }));
  const rows = await eventually("ten prompts in the gap", async () => {
    const now = await drawn();
    return now.length >= 10 && now;
  });
  for (const { prompt, best } of rows.slice(0, 10)) {
    assert.ok(best.covers, prompt);
    assert.equal(best.policy, truth.get(prompt), prompt);
  }
});

test("the history grows on the page", { timeout: 2 * kWait }, async () => {
  const known = async () => (await json(`${url}api/v1/monitors/demo/history`))?.samples.length ?? 0;
  const shown = async () => Number(/(\d+) evaluations over/.exec(await page.locator("main").innerText())?.[1] ?? 0);
  await eventually("three samples", async () => (await known()) >= 3);
  const first = await eventually("the page to say so", async () => (await shown()) >= 3 && shown());
  await eventually("one more", async () => (await shown()) > first);
  await screenshots(page, "demo");
  assert.deepEqual(page.faults, []);
});

test("the alarm is acknowledged from the page, and evidence begins anew", { timeout: 2 * kWait }, async () => {
  await page.getByRole("button", { name: "Acknowledge" }).click();
  await eventually("the daemon to take it", () => /acknowledged, was evidence/.test(gapwatch.said()));
});

test("its end says what was seen, the alarm too", { timeout: 2 * kWait }, async () => {
  await gapwatch.stop("SIGINT");
  assert.equal(gapwatch.process.exitCode, 0);
  assert.match(gapwatch.said(), /What was seen: [\d]+ events\. The alarm was raised \d+ s after the start, \d+ s after "specialist" set in\./);
  const [, named, right] = /Of the (\d+) prompts that it names first, 3 for a policy, (\d+) are/.exec(gapwatch.said()).map(Number);
  assert.ok(named > 0 && right >= named / 2, gapwatch.said());
});
