// A real Prometheus and Alertmanager beside the demo: /metrics is clean, every dashboard's query finds data, and the alert
// of the emerging specialist is told once.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createServer } from "node:http";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { eventually, freePort, Gapwatch, json, kWait, out, Program } from "../support/gapwatch.mjs";

const ops = join(import.meta.dirname ?? new URL(".", import.meta.url).pathname, "../../ops");
const told = [];  // what Alertmanager sent
let gapwatch, prometheus, alertmanager, receiver, url, prometheusUrl;

const text = (name) => readFileSync(join(ops, name), "utf8");

// The rules as they are, but without the waits that are for people.
function writeRules(dir) {
  writeFileSync(join(dir, "recording.yml"), text("prometheus/recording.yml"));
  writeFileSync(join(dir, "alerts.yml"), text("prometheus/alerts.yml").replaceAll(/^( *for:) .*$/gm, "$1 2s"));
}

before(async () => {
  gapwatch = new Gapwatch("demo", "demo", "--port", "0", "--rate", "6000", "--emerges-after", "3");
  url = await gapwatch.url();
  receiver = createServer((request, response) => {
    let body = "";
    request.on("data", (part) => { body += part; });
    request.on("end", () => {
      told.push({ path: request.url, ...JSON.parse(body) });
      response.end();
    });
  });
  await new Promise((done) => receiver.listen(0, "127.0.0.1", done));
  const [alertmanagerPort, prometheusPort] = [await freePort(), await freePort()];
  const dir = join(out, "prometheus");
  mkdirSync(dir, { recursive: true });
  writeRules(dir);
  writeFileSync(join(dir, "alertmanager.yml"), text("alertmanager/alertmanager.yml").replaceAll("127.0.0.1:9099", `127.0.0.1:${receiver.address().port}`)
    .replaceAll(/group_wait: .*/g, "group_wait: 1s"));
  writeFileSync(join(dir, "prometheus.yml"), text("prometheus/prometheus.yml").replaceAll("15s", "1s")
    .replace("127.0.0.1:9093", `127.0.0.1:${alertmanagerPort}`).replace("127.0.0.1:9464", new URL(url).host));
  alertmanager = new Program("alertmanager", "prometheus-alertmanager", `--config.file=${dir}/alertmanager.yml`, `--storage.path=${dir}/alertmanager`,
    `--web.listen-address=127.0.0.1:${alertmanagerPort}`, "--cluster.listen-address=");
  prometheus = new Program("prometheus", "prometheus", `--config.file=${dir}/prometheus.yml`, `--storage.tsdb.path=${dir}/data`,
    `--web.listen-address=127.0.0.1:${prometheusPort}`);
  prometheusUrl = `http://127.0.0.1:${prometheusPort}`;
  await eventually("Prometheus", () => json(`${prometheusUrl}/api/v1/status/buildinfo`).catch(() => undefined));
}, { timeout: kWait });

after(async () => {
  await prometheus?.stop();
  await alertmanager?.stop();
  receiver?.close();
  await gapwatch?.stop();
});

async function query(expression) {
  const answer = await json(`${prometheusUrl}/api/v1/query?query=${encodeURIComponent(expression)}`);
  return answer?.data.result;
}

test("the evidence becomes an alert, told once", { timeout: 3 * kWait }, async () => {
  const alerts = () => told.filter((message) => message.path === "/evaluation")
    .flatMap((message) => message.alerts).filter((alert) => alert.labels.alertname === "GapwatchSpecialization");
  const [alert] = await eventually("the alert", () => (alerts().length > 0 ? alerts() : undefined));
  assert.equal(alert.status, "firing");
  assert.equal(alert.labels.monitor, "demo");
  assert.match(alert.annotations.description, /oracle gap at tau = 0\.1; eval demo; scorer default; window all; null: margin-preserving; anytime-valid at alpha = 0\.01/);
  assert.equal(alert.annotations.page_url, `http://${new URL(url).host}/#monitor=demo`);
  // Ten more evaluations of the rules and it still fires, and is not told again.
  const rounds = async () => Number(/^prometheus_rule_group_iterations_total\{.*gapwatch_evidence"\} (\d+)/m.exec(
    await (await fetch(`${prometheusUrl}/metrics`)).text())?.[1] ?? 0);
  const from = await rounds();
  await eventually("ten evaluations of the rules", async () => (await rounds()) >= from + 10);
  assert.equal(alerts().length, 1);
});

test("/metrics is clean", async () => {
  const metrics = await (await fetch(`${url}metrics`)).text();
  const checked = spawnSync("promtool", ["check", "metrics"], { input: metrics, encoding: "utf8" });
  assert.equal(checked.status, 0, checked.stdout + checked.stderr);
  assert.equal(checked.stdout + checked.stderr, "");
});

test("every query of every dashboard finds data, and every panel says what it is", { timeout: kWait }, async () => {
  const dir = join(out, "grafana");
  assert.equal(spawnSync(join(ops, "grafana/dashboards"), [dir]).status, 0);
  const uids = new Set();
  for (const file of readdirSync(dir)) {
    const dashboard = JSON.parse(readFileSync(join(dir, file), "utf8"));
    assert.equal(`${dashboard.uid}.json`, file);
    assert.ok(!uids.has(dashboard.uid));
    uids.add(dashboard.uid);
    for (const panel of dashboard.panels) {
      const where = `${file}: ${panel.title}`;
      assert.ok(panel.title && panel.description?.length > 9 && panel.fieldConfig.defaults.unit, where);
      assert.equal(panel.datasource.uid, "${datasource}", where);
      for (const { expr } of panel.targets) {
        const plain = expr.replaceAll("$__rate_interval", "10s").replaceAll("$job", "gapwatch").replaceAll("$instance", ".*")
          .replaceAll("$monitor", ".*").replaceAll("$tau", "0.1");
        await eventually(`data for ${where}: ${plain}`, async () => (await query(plain))?.length > 0);
      }
    }
  }
  assert.deepEqual([...uids].sort(), ["gapwatch-fleet", "gapwatch-monitor", "gapwatch-stream"]);
});
