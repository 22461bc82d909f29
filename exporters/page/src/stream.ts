// Health of the stream.
import { facts, html, table } from "./dom";
import type { Child } from "./dom";
import { bytes, count, duration, plural, time } from "./format";
import type { Stream } from "./types";

function notes(health: Stream): Child[] {
  return [
    health.trouble ? html("p", { class: "note bad", role: "alert" }, health.trouble) : null,
    health.config_reload_success ? null : html("p", { class: "note bad" }, "The last reload of the config was refused; the config before it is still in use. The log says why."),
    health.paused ? html("p", { class: "note" }, "Paused: nothing is read until it is resumed.") : null,
    health.ready || health.trouble ? null : html("p", { class: "note" }, "Not ready yet: the stream is not assigned and caught up."),
  ];
}

// `rate`: events per second since the update before, or null.
export function stream(health: Stream, at: number, rate: number | null): Child[] {
  const lag = health.partitions.reduce((sum, partition) => sum + (partition.lag ?? 0), 0);
  const unknown = health.partitions.some((partition) => partition.lag === null);
  const rejected = Object.entries(health.rejected);
  const overflow = Object.entries(health.overflow).filter(([, number]) => number > 0);
  return [html("div", { class: "head" }, html("h2", {}, "Stream")), notes(health),
    facts([["events per second", rate === null ? "n/a" : count(Math.round(rate)), "Events of any result per second, between the last two updates of this page"],
      ["lag", health.partitions.length === 0 ? "n/a" : `${count(lag)}${unknown ? " +?" : ""}`, "Records known to exist and not applied yet, all partitions; +? where a partition's end is unknown"],
      ["newest event", health.watermark === null ? "n/a" : `${duration(at - health.watermark)} ago`, `Largest event time applied: ${time(health.watermark)}`],
      ["cells", count(health.cells), `Cells (prompt and policy) with a response, over ${count(health.prompts)} prompts`],
      ["state on disk", bytes(health.state_bytes), "Bytes of the state folder"],
      ["rebalances", count(health.rebalances), "Times the assignment of partitions changed"],
      ...Object.entries(health.events).map(([name, number]): [string, string, string] => [name, count(number), `Events whose result was "${name}", since the start of the counts`])]),
    health.late === 0 ? null : html("p", { class: "note" }, `Too late for their window by time, counted in the state: ${count(health.late)} responses.`),
    overflow.length === 0 ? null : html("p", { class: "note" }, `Over a limit and left out: ${overflow.map(([kind, number]) => `${kind} ${count(number)}`).join(", ")}.`),
    rejected.length === 0 ? null : table("Rejected events", [{ name: "rejected because", word: true }, { name: "events" }], rejected.map(([reason, number]) => ({ cells: [reason, count(number)] })), "stacked"),
    health.partitions.length === 0 ? null : html("details", { "data-key": "partitions" }, html("summary", {}, plural(health.partitions.length, "partition")),
      table("Partitions", [{ name: "topic", word: true }, { name: "partition" }, { name: "next offset" }, { name: "lag" }],
        health.partitions.map((p) => ({ cells: [p.topic, String(p.partition), count(p.next), count(p.lag)] })), "stacked"))];
}
