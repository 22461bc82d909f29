// The page over the demo's live stream: it fills, moves by itself, and shows what emerges.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { eventually, Gapwatch, json, kWait } from "../support/gapwatch.mjs";
import { launch, openPage, screenshots } from "./support.mjs";

let gapwatch, browser, page, url;

before(async () => {
  gapwatch = new Gapwatch("demo", "demo", "--port", "0", "--rate", "1500", "--emerges-after", "4");
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

test("the gap rises out of the nulls' bands, and the heatmap names who makes it", { timeout: 2 * kWait }, async () => {
  await eventually("a gap beyond both bands", async () => {
    const found = (await monitor())?.coverage.find((at) => at.tau === 0.1);
    return found?.nulls.margin && found.nulls.redeal && found.gap > found.nulls.margin.p95;
  });
  await page.locator(".heatmap tbody tr.in").first().waitFor({ timeout: kWait });
  const shown = await page.locator(".heatmap tbody tr.in").first().evaluate((row) => {
    const columns = [...row.closest("table").querySelectorAll("th.turned")].map((cell) => cell.innerText);
    const covering = [...row.querySelectorAll("td")].flatMap((cell, i) => (cell.classList.contains("covers") ? [columns[i]] : []));
    return { prompt: row.querySelector("th").lastChild.textContent, covering };
  });
  const { prompts } = await json(`${url}api/v1/monitors/demo/prompts?sort=gap&limit=100`);
  const known = prompts.find((prompt) => prompt.prompt === shown.prompt);
  assert.ok(shown.covering.length > 0);
  for (const policy of shown.covering) assert.ok(known.cells.find((cell) => cell.policy === policy).successes > 0, policy);
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
