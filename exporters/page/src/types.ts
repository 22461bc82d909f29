// The documents of the HTTP API (exporters/api_json.h, report_json.h). Undefined numbers are null.

export type Num = number | null;
export type Pair = [number, number] | null;
export type NullName = "redeal" | "margin";

export interface Comparison {
  mean: number; p05: number; p95: number; p_upper: number; excess: number;
  excess_interval: Pair; samples: number; observed: number; method: string;
  // The normal law of the last evaluation; the numbers above, by samples, are renewed less often.
  live?: { mean: number; p05: number; p95: number; p_upper: number; excess: number; observed: number; method: string };
  checked?: Comparison;  // set by withLiveNulls: what the samples said
}
export type Nulls = Record<NullName, Comparison | null>;

export interface Coverage {
  tau: number; oracle: Num; best: Num; best_policy: string | null; mixture: Num; mixture_matched: Num;
  gap: Num; disagreement: Num; break_even_error: Num; nulls: Nulls;
}
export interface Policy {
  policy: string; pass_at_1: Num; interval: Pair; rauc: Num; coverage: Record<string, Num>;
}
export interface Gap {
  coupling: string; comparator: string | null; total: Num; recoverable: Num; noise: Num;
  noise_share: Num; noise_share_interval: Pair;
}
export interface Sequential { log10_e: Num; p_anytime: Num; alarm: boolean; since: Num; guaranteed: boolean }
export interface Attribution { policy: string; prompts: { prompt: string; log10_e: Num }[] }
export interface Check { name: string; value: number; ok: boolean; meaning: string }
export interface Router {
  router: string; prompts: number; pass_at_1: Num;
  disagreement_error: Record<string, Num>; gain: Record<string, Num>;
}

export interface Identity { name: string; eval: string; scorer: string; slice: string | null; window: string; window_span?: { from: string; to: string } }
export interface Prompts { total: number; complete: number; partial: number; degenerate: number }

export interface Monitor extends Identity {
  pool: string[]; identifiable: boolean; prompts: Prompts;
  trials: { min: Num; median: Num; max: Num; total: number };
  unscored: number; state: string; checks: Check[]; policies: Policy[];
  oracle: {
    ceiling: Num; union: { product: Num; paired: Num; frechet_upper: Num };
    premium: { product: Num; paired: Num; frechet_width: Num };
    best_single: { policy: string; pass_at_1: number } | null;
    positive_fraction: Num; conditional_premium: Num; effective_pool_size: Num;
    zero: { certain: number; dead: number; lone: number };
  };
  gap: Gap; routers: Router[]; coverage: Coverage[];
  rauc: { band: [number, number]; best: Num; oracle: Num; mixture: Num };
  population_gap: { tau: number; estimate: Num; interval: Pair; method: string } | null;
  sequential: Partial<Record<NullName, Sequential | null>> | null;
  attribution: Attribution[];
  groups: Record<string, string>;
  alarm: { alpha: number; threshold: number };
  evaluation: { at: number; seconds: number; nulls_checked_at: number; current: boolean } | null;
  split_prompts: number;
  verdict: string[];
}

export interface Entry extends Identity {
  state: string; pool_size: number; identifiable: boolean; prompts: Prompts; trials_total: number;
  headline: { tau: number; oracle_gap: number; nulls: Nulls; gap: Gap } | null;
}

export interface Stream {
  events: Record<string, number>; rejected: Record<string, number>;
  partitions: { topic: string; partition: number; next: number; lag: Num }[];
  watermark: Num; rebalances: number; cells: number; prompts: number; state_bytes: number;
  overflow: Record<string, number>; late: number; paused: boolean; ready: boolean; trouble: string; config_reload_success: boolean;
}
export interface List { at: number; version: string; stream: Stream; monitors: Entry[] }
export interface Message { at: number; stream: Stream; monitor: Monitor }

export interface SampleNull { mean: Num; p05: Num; p95: Num; excess: Num }
export interface Sample {
  at: number; state: string; prompts: { complete: number; total: number }; trials: number; coupling: string;
  comparator: Num; ceiling: Num; union: Num; union_upper: Num; noise_share: Num;
  evidence: Record<NullName, { log10_e: Num; alarm: boolean }>;
  coverage: { tau: number; gap: Num; nulls: Record<NullName, SampleNull | null> }[];
}
export interface HistoryDocument { monitor: string; step: number; samples: Sample[] }

export interface Cell { policy: string; trials: number; successes: number; posterior_mean: number; interval: [number, number] }
export interface Prompt {
  prompt: string; slice: string | null; premium: number; ceiling: number; disagrees: boolean;
  in_gap: boolean; gain: number; cells: Cell[];
}
