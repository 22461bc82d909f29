// Where the numbers come from: the list by polling, one monitor by its event stream, by polling while
// the stream is away; its history and its prompts once an evaluation.
import { withLiveNulls } from "./live_nulls";
import type { HistoryDocument, List, Message, Monitor, Prompt, Sample, Stream } from "./types";

const kListEvery = 5_000;
const kRetryStream = 15_000;
const kPromptsEvery = 5_000;  // while draws come
const kRefetchHistory = 300_000;
const kPoints = 600;

export type Link = "live" | "polling" | "lost";
export interface Handlers {
  list(list: List): void;
  monitor(monitor: Monitor): void;
  stream(stream: Stream, at: number): void;
  link(state: Link): void;
  history(samples: Sample[], range: number): void;
  prompts(prompts: Prompt[]): void;
}

async function fetchJson<T>(path: string): Promise<T> {
  const response = await fetch(path, { headers: { Accept: "application/json" } });
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return response.json() as Promise<T>;
}

const monitorPath = (name: string) => `/api/v1/monitors/${encodeURIComponent(name)}`;

export class Live {
  private name: string | null = null;
  private source: EventSource | null = null;
  private streaming = false;
  private triedAt = 0;
  private evaluatedAt = 0;
  private samples: Sample[] = [];
  private fetchedAt = 0;
  private range = 3_600_000;
  private limit = 25;
  private trials = 0;  // when the prompts were asked for
  private askedAt = 0;
  private now = Date.now();  // by the server's clock
  private round = 0;  // what was asked for before the last change is not shown

  constructor(private readonly handlers: Handlers) {
    void this.tick();
  }

  select(name: string) {
    if (name === this.name) return;
    this.name = name;
    this.evaluatedAt = 0;
    this.forget();
    this.close();
    this.open();
  }

  // How far back the history goes, in milliseconds; 0: all of it.
  look(range: number) {
    this.range = range;
    this.forget();
    void this.fetchDetails();
  }

  showPrompts(limit: number) {
    this.limit = limit;
    void this.fetchDetails();
  }

  private forget() {
    ++this.round;
    this.samples = [];
    this.fetchedAt = 0;
  }

  private close() {
    this.source?.close();
    this.source = null;
    this.streaming = false;
  }

  private open() {
    if (this.name === null) return;
    this.triedAt = Date.now();
    const source = new EventSource(`${monitorPath(this.name)}/events`);
    this.source = source;
    const arrived = () => {
      this.streaming = true;
      this.handlers.link("live");
    };
    source.onopen = () => {
      if (source === this.source) arrived();
    };
    source.onmessage = (event: MessageEvent<string>) => {
      if (source !== this.source) return;
      arrived();
      const message = JSON.parse(event.data) as Message;
      this.now = message.at;
      this.handlers.stream(message.stream, message.at);
      this.take(message.monitor);
    };
    source.onerror = () => {
      if (source !== this.source) return;
      this.streaming = false;
      if (source.readyState === EventSource.CLOSED) this.close();
    };
  }

  private take(monitor: Monitor) {
    this.handlers.monitor(withLiveNulls(monitor));
    const at = monitor.evaluation?.at ?? -1;
    const moved = monitor.trials.total !== this.trials && Date.now() - this.askedAt > kPromptsEvery;
    if (at === this.evaluatedAt && !moved) return;
    this.evaluatedAt = at;
    this.trials = monitor.trials.total;
    this.askedAt = Date.now();
    void this.fetchDetails();
  }

  private async fetchDetails() {
    if (this.name === null) return;
    const round = this.round, path = monitorPath(this.name);
    const history = this.fetchHistory(path, round);
    const prompts = fetchJson<{ prompts: Prompt[] }>(`${path}/prompts?sort=gap&limit=${this.limit}`);
    const [, found] = await Promise.allSettled([history, prompts]);
    if (round === this.round && found.status === "fulfilled") this.handlers.prompts(found.value.prompts);
  }

  // All of the range at first and now and then, what has come since in between.
  private async fetchHistory(path: string, round: number) {
    const now = this.now, last = this.samples.at(-1);
    const whole = last === undefined || now - this.fetchedAt > kRefetchHistory;
    const from = whole ? (this.range === 0 ? 0 : now - this.range) : last.at + 1;
    const step = this.range === 0 ? 0 : Math.floor(this.range / kPoints);
    const answer = await fetchJson<HistoryDocument>(`${path}/history?from=${from}&step=${step}`);
    if (round !== this.round) return;
    if (whole) this.fetchedAt = now;
    const fresh = answer.samples.filter((sample) => whole || sample.at > (this.samples.at(-1)?.at ?? 0));
    this.samples = whole ? fresh : [...this.samples, ...fresh];
    if (this.range > 0) this.samples = this.samples.filter((sample) => sample.at >= now - this.range);
    this.handlers.history(this.samples, this.range);
  }

  private async tick() {
    try {
      const list = await fetchJson<List>("/api/v1/monitors");
      this.now = list.at;
      this.handlers.list(list);
      if (this.name !== null && !this.streaming) {
        const name = this.name;
        const monitor = await fetchJson<Monitor>(monitorPath(name));
        if (name === this.name && !this.streaming) {
          this.take(monitor);
          this.handlers.link("polling");
        }
        if (!this.source && Date.now() - this.triedAt > kRetryStream) this.open();
      }
    } catch {
      this.streaming = false;
      this.handlers.link("lost");
    }
    setTimeout(() => void this.tick(), kListEvery);
  }
}
