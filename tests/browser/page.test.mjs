// The page over a stored stream whose truth is known: a specialist with a hostile name, and monitors in other states.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { eventually, freePort, Gapwatch, json, kWait, out, random, writeConfig } from "../support/gapwatch.mjs";
import { accessible, launch, openPage, screenshots, scriptUntil } from "./support.mjs";

const kHostile = "<img src=x onerror=alert(1)>\"'=cmd()";
const kPolicies = ["generalist", kHostile, "steady", "weak"];
const kToken = "a-token-to-acknowledge-with";
const kPrompts = 120, kDraws = 16, kSpecial = 24;

// The specialist alone solves the first prompts, and nothing else.
function events() {
  const uniform = random(7), lines = [];
  for (let draw = 0; draw < kDraws; ++draw) {
    for (let i = 0; i < kPrompts; ++i) {
      for (const policy of kPolicies) {
        const special = i < kSpecial;
        const rate = policy === kHostile ? (special ? 0.9 : 0) : special ? 0 : { generalist: 0.75, steady: 0.65, weak: 0.3 }[policy];
        lines.push(JSON.stringify({ eval: "known", prompt: `p${String(i).padStart(3, "0")}`, policy, draw, correct: uniform() < rate }));
      }
    }
  }
  for (const [evaluation, prompts] of [["alike", 60], ["few", 6]]) {
    for (let draw = 0; draw < 8; ++draw) {
      for (let i = 0; i < prompts; ++i) {
        for (const policy of ["left", "right", "third"]) {
          lines.push(JSON.stringify({ eval: evaluation, prompt: `q${i}`, policy, draw, correct: uniform() < (i % 10) / 10 }));
        }
      }
    }
  }
  for (let i = 0; i < 5; ++i) lines.push(JSON.stringify({ eval: "half", prompt: `<b>${i}</b>`, policy: `only-${i}`, draw: 0, correct: true }));
  lines.push("{not json", JSON.stringify({ eval: "known", prompt: "p", correct: true }));
  return lines.join("\n") + "\n";
}

const dir = join(out, "stored");
let gapwatch, browser, page, url, config;

before(async () => {
  const port = await freePort();
  config = writeConfig(dir, "gapwatch.yaml", ["source:", `  files: [${dir}/events.jsonl]`, `state: {path: ${dir}/state}`,
    `http: {listen: "127.0.0.1:${port}", token: ${kToken}}`, "monitors:",
    "  - {name: known, eval: known, evaluate_every: 1s, nulls: {replicates: 500}}",
    ...["half", "alike", "few"].map((name) => `  - {name: ${name}, eval: ${name}, evaluate_every: 1s, nulls: {replicates: 500}}`)]);
  writeFileSync(join(dir, "events.jsonl"), events());
  gapwatch = new Gapwatch("stored", "run", "--config", config);
  url = `http://127.0.0.1:${port}/`;
  await gapwatch.url();
  await eventually("the first evaluation", async () => (await json(`${url}api/v1/monitors/known`).catch(() => undefined))?.evaluation?.current);
  browser = await launch();
  page = await openPage(browser, url);
}, { timeout: kWait });

after(async () => {
  await browser?.close();
  await gapwatch?.stop();
});

const text = (selector) => page.locator(selector).innerText();

test("the answer says who, on which prompts, before anything else", async () => {
  await page.locator(".answer").waitFor();
  await page.locator(".part", { hasText: "Who, on which prompts" }).locator("li").first().waitFor();
  const who = await page.locator(".part", { hasText: "Who, on which prompts" }).innerText();
  assert.match(who, /p0[0-2]\d/);
  assert.ok(who.includes(kHostile), who);
  const top = await page.locator(".answer").boundingBox();
  assert.ok(top.y < 300 && top.y + 320 < 900, "the answer is not in the first view");
});

// What a button lets one keep, as text.
async function download(name) {
  const [kept] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name }).click()]);
  const path = join(out, kept.suggestedFilename());
  await kept.saveAs(path);
  return readFileSync(path, "utf8");
}

test("hostile names stay text", async () => {
  assert.equal(await page.locator("main img").count(), 0);
  assert.ok((await text("main")).includes(kHostile));
  assert.deepEqual(page.faults, []);
});

test("the heatmap names the specialist on its prompts, with counts", async () => {
  await page.locator(".heatmap tbody tr").nth(kSpecial - 1).waitFor();
  const rows = await page.locator(".heatmap tbody tr").evaluateAll((all) => all.map((row) => ({
    prompt: row.querySelector("th").innerText.replace("◆", ""), inGap: row.className === "in",
    covers: [...row.querySelectorAll("td")].map((cell) => cell.classList.contains("covers")),
    counts: [...row.querySelectorAll("td")].map((cell) => cell.innerText) })));
  const columns = await page.locator(".heatmap thead th.turned").evaluateAll((all) => all.map((cell) => cell.innerText));
  const specialist = columns.indexOf(kHostile);
  const inGap = rows.filter((row) => row.inGap);
  assert.equal(inGap.length, kSpecial);
  for (const row of inGap) {
    assert.match(row.prompt.trim(), /^p0[0-2]\d$/);
    assert.deepEqual(row.covers.map((covers, i) => covers && i !== specialist), [false, false, false, false], row.prompt);
    assert.match(row.counts[specialist], /^\d+\/16$/);
  }
});

test("every number of the page has a title with estimand, scorer, window and n", async () => {
  await page.locator(".heatmap tbody tr").first().waitFor();
  const numbers = await page.evaluate(() => {
    const found = [], walk = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
    const titleOf = (element) => element.getAttribute("title") ?? [...element.children].find((child) => child.tagName === "title")?.textContent;
    while (walk.nextNode()) {
      const text = walk.currentNode.data;
      if (walk.currentNode.parentElement.closest("title, summary, option") || !/\d\.\d{2}|\d%|^\d+\/\d+$/.test(text)) continue;
      let title;
      for (let at = walk.currentNode.parentElement; at.tagName !== "MAIN" && !title; at = at.parentElement) title = titleOf(at);
      found.push([text, title ?? ""]);
    }
    return found;
  });
  assert.ok(numbers.length > 150, `${numbers.length} numbers`);
  assert.deepEqual(numbers.filter(([, title]) => !/scorer .*window .*n = /s.test(title)), []);
});

const kOthers = [["collecting", "half", /Nothing can be said yet/], ["insufficient", "few", /Too little data/], ["quiet", "alike", /No evidence that/]];

test("the overview says in which state every monitor is", async () => {
  const shown = async () => Object.fromEntries(await page.locator("nav a").evaluateAll((all) =>
    all.map((link) => [link.querySelector(".name").textContent, link.querySelector(".state").className.replace("state ", "")])));
  await eventually("every monitor's state", async () => (await shown()).alike === "quiet");
  assert.deepEqual(await shown(), { known: "evidence", half: "collecting", few: "insufficient", alike: "quiet" });
});

test("what has no answer yet says so, and the keyboard reaches it", async () => {
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.className), "skip");
  for (const [state, name, says] of kOthers) {
    await page.locator("nav a", { hasText: name }).focus();
    await page.keyboard.press("Enter");
    await page.locator("h1", { hasText: name }).waitFor();
    assert.match(await text(".says"), says);
    assert.equal(await page.locator(`.answer .state.${state}`).count(), 1);
    if (state !== "collecting") await page.locator(".heatmap tbody tr").first().waitFor();
    await screenshots(page, state);
  }
  await page.goto(`${url}#monitor=known`);
  await page.locator("h1", { hasText: "known" }).waitFor();
});

test("looks right in both themes at two widths, and is accessible", async () => {
  await page.locator(".heatmap tbody tr").first().waitFor();
  await page.locator("summary", { hasText: "Numbers" }).click();
  await screenshots(page, "known");
  assert.deepEqual(page.faults, []);
});

test("the theme can be chosen and is kept", async () => {
  const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
  await page.locator("#theme").click();
  await page.locator("#theme").click();
  assert.equal(await theme(), "dark");
  await page.reload();
  await page.locator(".answer").waitFor();
  assert.equal(await theme(), "dark");
  await page.locator("#theme").click();
});

test("pictures and data can be kept", async () => {
  await page.locator(".heatmap").waitFor();
  const keep = download;
  const picture = await keep("Download Oracle gap against noise alone as SVG");
  assert.match(picture, /^<svg [^>]*xmlns="http:\/\/www.w3.org\/2000\/svg"/);
  assert.match(picture, /fill="rgb/);
  const csv = await keep("Download Prompts that drive the gap as CSV");
  assert.match(csv, /^prompt,slice,in_gap,/);
  assert.match(csv, /\r\np000,,true,/);
  const policies = await keep("Download Policies as CSV");
  assert.ok(policies.includes(`"<img src=x onerror=alert(1)>""'=cmd()"`), policies);
  assert.equal(JSON.parse(await keep("Download The gap, split as JSON")).gap.coupling, "paired");
  assert.match(await keep("Download Oracle gap over time as SVG"), /^<svg/);
  assert.match(await keep("Download Oracle gap over time as CSV"), /^time,state,complete_prompts,/);
});

test("the evidence is drawn where the alarm's line is seen, and now is now", async () => {
  await page.locator(".timeline canvas").nth(1).waitFor();
  const hidden = await page.locator(".timeline").evaluateAll((all) => all.map((item) => item.hidden));
  assert.deepEqual(hidden, [false, false]);
  const picture = await download("Download Evidence over time as SVG");
  const at = (pattern) => Number(pattern.exec(picture)?.[1]);
  const line = at(/<line [^>]*y1="([\d.]+)"[^>]*stroke-dasharray="6px/), highest = at(/<circle [^>]*cy="([\d.]+)"/);
  assert.ok(line > highest + 20 && line < 220, `the line at ${line}, the evidence at ${highest}`);
  const today = new Date();
  assert.ok(picture.includes(`/${today.getFullYear()}`), "the axis of time is of this year");
});

test("the runbook has a section for every alert, and the answer leads to its own", async () => {
  const alerts = [...readFileSync(new URL("../../ops/prometheus/alerts.yml", import.meta.url), "utf8").matchAll(/- alert: (\w+)/g)].map(([, name]) => name);
  assert.ok(alerts.length > 10);
  const runbook = await openPage(browser, new URL(await page.getByRole("link", { name: "the steps" }).getAttribute("href"), url).href);
  const aimed = runbook.locator("h2:target");
  assert.equal(await aimed.innerText(), "GapwatchSpecialization");
  assert.ok((await aimed.boundingBox()).y < 100, "the section is not in view");
  for (const name of alerts) assert.equal(await runbook.locator(`h2#${name.toLowerCase()}`).innerText(), name);
  await screenshots(runbook, "runbook");
  assert.deepEqual(runbook.faults, []);
  await runbook.close();
});

test("the alarm is on the screen until it is acknowledged, which takes the token", async () => {
  assert.equal(await page.locator(".answer .state.evidence").count(), 1);
  assert.match(await page.title(), /^▲ known/);
  await page.getByRole("button", { name: "Acknowledge" }).click();
  await page.locator(".acknowledge", { hasText: "Not acknowledged: this needs the configured token" }).waitFor();
  await page.getByLabel("Token").fill(kToken);
  await page.keyboard.press("Enter");
  await page.locator(".answer .state.acknowledged").waitFor({ timeout: kWait });
  await page.locator("nav a .state.acknowledged").waitFor({ timeout: kWait });
  assert.equal(await page.getByRole("button", { name: "Acknowledge" }).count(), 0);
  assert.match(await text(".says"), /somebody has acknowledged/);
  assert.match(await page.title(), /^known/);
  await screenshots(page, "acknowledged");
});

test("the page survives the daemon's restart, and so does the history", async () => {
  const history = async () => (await json(`${url}api/v1/monitors/known/history`))?.samples;
  const then = await eventually("a sample of the history", async () => (await history())?.[0]);
  assert.equal(then.prompts.complete, kPrompts);
  await page.locator(".heatmap tbody tr").first().waitFor();
  const shown = async () => [await text(".says"), await page.locator(".heatmap tbody tr").first().innerText()];
  const known = await shown();
  assert.match(known[0], /somebody has acknowledged/);
  assert.match(known[1], /p\d{3}.*\d+\/16/s);
  await gapwatch.stop("SIGKILL");
  await page.locator(".link.lost").waitFor({ timeout: kWait });
  assert.deepEqual(await shown(), known, "what was known stays on show");
  gapwatch = new Gapwatch("stored", "run", "--config", config);
  await gapwatch.url();
  await page.locator(".link.live").waitFor({ timeout: kWait });
  const again = await eventually("the history after the restart", async () => (await history())?.[0]);
  assert.deepEqual(again, then);
  assert.equal(await page.locator(".answer .state.acknowledged").count(), 1);
  assert.deepEqual(page.faults.filter((fault) => !fault.includes("ERR_")), []);
});

test("a fresh page is drawn whole, and says with how much script", async () => {
  const fresh = await openPage(browser, "about:blank");
  const client = await fresh.context().newCDPSession(fresh);
  await client.send("Performance.enable");
  await fresh.goto(`${url}#monitor=known`);
  await fresh.locator(".heatmap tbody tr").first().waitFor();
  const { metrics } = await client.send("Performance.getMetrics");
  const script = metrics.find((metric) => metric.name === "ScriptDuration").value;
  const { painted, answered } = await scriptUntil(browser, `${url}#monitor=known`);
  console.log(`script until the first paint: ${painted.toFixed(0)} ms, the answer: ${answered.toFixed(0)} ms, everything is drawn: ${(1000 * script).toFixed(0)} ms`);
  await accessible(fresh, "fresh page");
  await fresh.close();
});
