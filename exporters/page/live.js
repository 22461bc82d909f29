// Where the numbers come from: the list by polling, one monitor by its event stream, by polling while
// the stream is away.

const kListEvery = 5000;
const kRetryStream = 15000;

async function fetchJson(path) {
  const response = await fetch(path, { headers: { Accept: "application/json" } });
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return response.json();
}

const monitorPath = (name) => `/api/v1/monitors/${encodeURIComponent(name)}`;

// handlers: list(document), monitor(monitor), stream(health, at), link(state) with "live", "polling" or "lost".
export class Live {
  constructor(handlers) {
    this.handlers = handlers;
    this.name = null;
    this.source = null;
    this.streaming = false;
    this.triedAt = 0;
    this.tick();
  }

  select(name) {
    if (name === this.name) return;
    this.name = name;
    this.close();
    this.open();
  }

  close() {
    this.source?.close();
    this.source = null;
    this.streaming = false;
  }

  open() {
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
    source.onmessage = (event) => {
      if (source !== this.source) return;
      arrived();
      const message = JSON.parse(event.data);
      this.handlers.stream(message.stream, message.at);
      this.handlers.monitor(message.monitor);
    };
    source.onerror = () => {
      if (source !== this.source) return;
      this.streaming = false;
      if (source.readyState === EventSource.CLOSED) this.close();
    };
  }

  async tick() {
    try {
      this.handlers.list(await fetchJson("/api/v1/monitors"));
      if (this.name !== null && !this.streaming) {
        const name = this.name;
        const monitor = await fetchJson(monitorPath(name));
        if (name === this.name && !this.streaming) {
          this.handlers.monitor(monitor);
          this.handlers.link("polling");
        }
        if (!this.source && Date.now() - this.triedAt > kRetryStream) this.open();
      }
    } catch {
      this.streaming = false;
      this.handlers.link("lost");
    }
    setTimeout(() => this.tick(), kListEvery);
  }
}
