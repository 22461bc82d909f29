// A browser to look with, and what must be true of every page.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { kWait, out } from "../support/gapwatch.mjs";

const require = createRequire(join(process.env.GAPWATCH_MODULES, "index.js"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

export function launch() {
  return chromium.launch({ executablePath: process.env.GAPWATCH_CHROMIUM,
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
}

// A page that remembers what it must not have: errors, refused loads, requests to elsewhere.
export async function openPage(browser, url, options = {}) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, ...options });
  page.setDefaultTimeout(kWait);
  page.faults = [];
  page.on("pageerror", (error) => page.faults.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => {
    page.faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("console", (message) => {
    if (/Content.Security.Policy|Trusted/i.test(message.text())) page.faults.push(`refused: ${message.text()}`);
  });
  page.on("request", (request) => {
    if (!/^(http:\/\/127\.0\.0\.1:|blob:|data:)/.test(request.url())) page.faults.push(`asks ${request.url()}`);
  });
  await page.goto(url);
  return page;
}

export async function accessible(page, what) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, {
    runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }));
  const found = violations.map(({ id, help, nodes }) => `${id}: ${help}\n${nodes.slice(0, 3).map((node) => `  ${node.html.slice(0, 200)}\n  ${node.failureSummary}`).join("\n")}`);
  assert.equal(found.length, 0, `${what}:\n${found.join("\n")}`);
}

// Every view in both themes at two widths.
export async function screenshots(page, name) {
  mkdirSync(join(out, "screenshots"), { recursive: true });
  for (const theme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme: theme });
    for (const width of [1280, 400]) {
      await page.setViewportSize({ width, height: 900 });
      const wide = await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() =>
        done(document.documentElement.scrollWidth)))));
      await page.screenshot({ path: join(out, "screenshots", `${name}-${width}-${theme}.png`), fullPage: true });
      assert.ok(wide <= width, `${name}: ${wide} px wide at ${width}`);
      const cut = await page.evaluate(() => [...document.querySelectorAll(".scroll:not(.heatmap)")]
        .filter((item) => item.scrollWidth > item.clientWidth).map((item) => item.getAttribute("aria-label")));
      assert.deepEqual(cut, [], `${name}: cut off at ${width} px`);
      // Colours do not depend on the width, nor what there is on the theme.
      if ((theme === "light") === (width === 400)) await accessible(page, `${name} at ${width} px, ${theme}`);
    }
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 1280, height: 900 });
}

// Opens a page of its own and says how much script ran, in milliseconds, until something was painted, and until the
// sentence that answers stood there.
export async function scriptUntil(browser, url) {
  const page = await browser.newPage();
  await page.addInitScript(() => {
    new MutationObserver((_, observer) => {
      if (document.querySelector(".answer .says") === null) return;
      performance.mark("answered");
      observer.disconnect();
    }).observe(document, { childList: true, subtree: true });
  });
  await browser.startTracing(page, { categories: ["devtools.timeline", "loading", "blink.user_timing", "v8", "disabled-by-default-v8.compile"] });
  await page.goto(url);
  await page.waitForSelector(".answer .says");
  const { traceEvents } = JSON.parse(await browser.stopTracing());
  await page.close();
  const mark = (name) => traceEvents.filter((event) => event.name === name).map((event) => event).at(-1);
  const answered = mark("answered");
  const painted = traceEvents.find((event) => event.name === "firstContentfulPaint" && event.pid === answered.pid);
  const kScript = new Set(["EvaluateScript", "FunctionCall", "v8.compile", "v8.compileModule", "v8.evaluateModule", "RunMicrotasks", "FireAnimationFrame", "TimerFire", "EventDispatch"]);
  const spans = traceEvents.filter((event) => event.ph === "X" && kScript.has(event.name) && event.pid === answered.pid && event.tid === answered.tid)
    .map(({ ts, dur }) => [ts, ts + dur]).sort((a, b) => a[0] - b[0]);
  const until = (end) => {
    let sum = 0, reached = 0;
    for (const [from, to] of spans) {
      const begin = Math.max(from, reached), stop = Math.min(to, end);
      if (stop > begin) sum += stop - begin;
      reached = Math.max(reached, to);
    }
    return sum / 1000;
  };
  return { painted: until(painted.ts), answered: until(answered.ts) };
}
