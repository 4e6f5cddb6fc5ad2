/** What the admin API tells, as far as the page reads it (docs/reference/admin-api.md). */

export interface Latency {
  p50: number;
  p99: number;
}

export interface EndpointStats {
  id: string;
  state: string;
  health: string;
  weight: number;
  effective_weight: number;
  share: number;
  requests_per_second: number;
  errors_per_second: number;
  failures_per_second: number;
  in_flight: number;
  latency_ms: Latency;
}

export interface ClusterStats {
  name: string;
  strategy: string;
  panic: boolean;
  requests_per_second: number;
  errors_per_second: number;
  retries_per_second: number;
  in_flight: number;
  latency_ms: Latency;
  endpoints: EndpointStats[];
}

export interface Stats {
  time: string;
  seconds: number;
  clusters: ClusterStats[];
}

export interface Endpoint {
  id: string;
  address: string;
  weight: number;
  effective_weight: number;
  zone: string | null;
  tier: number;
  labels: Record<string, string>;
  capacity: number | null;
  admin: "enabled" | "draining" | "disabled";
  health: string;
  state: string;
  reason: string;
  since: string;
  in_flight: number;
  requests: number;
  failures: number;
  latency_ms: Latency;
}

/** A strategy with its parameters beside its name. */
export interface Strategy {
  name: string;
  [param: string]: unknown;
}

export interface Cluster {
  name: string;
  strategy: Strategy;
  endpoints: Endpoint[];
  panic: boolean;
  overrides: unknown[];
}

export interface StrategyInfo {
  name: string;
  summary: string;
  advice: string;
  by_key: boolean;
  params: { name: string; values: string; default: string | null; doc: string }[];
}

export interface GatewayEvent {
  number: number;
  time: string;
  event: string;
  cluster?: string;
  endpoint?: string;
  from?: string;
  to?: string;
  cause?: string;
  evidence?: string;
  until?: string;
}

export interface Candidate {
  id: string;
  weight: number;
  factor: number;
  in_flight: number;
  penalty: number;
  latency_ns?: number | null;
  score: number | null;
  hot?: boolean;
  /** Of a dry run only: whether the decision looked at it. */
  compared?: boolean;
}

export interface Receipt {
  time: string;
  request_id: string | null;
  cluster: string;
  strategy: string;
  attempt: number;
  tier: number;
  key_hash: string | null;
  affinity: string | null;
  cursor: number | null;
  draws: string[];
  candidates: Candidate[];
  excluded: { id: string; reason: string }[];
  chosen: string | null;
  runner_up: string | null;
  margin: number | null;
  fallback: string | null;
  nobody: string | null;
  decision_ns: number | null;
  outcome: { status: number | null; latency_ms: number | null; error: string | null } | null;
  dry_run?: boolean;
  earlier?: Receipt[];
}

export interface KeyMap {
  strategy: string;
  endpoints: { id: string; weight: number; home: number; now: number }[];
  /** For keys in the order of their hashes, far enough apart to be drawn: whose home it is, and who takes them, as
   * places in `endpoints`. */
  places: [number, number][];
}

export interface Shadow {
  strategy: string;
  decisions: number;
  agreed: number;
  nobody: number;
  agreement: number;
  distribution_difference: number;
  latency_difference_ms: number;
  endpoints: { id: string; live: number; shadow: number }[];
  summary: string;
}
