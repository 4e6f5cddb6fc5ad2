import { computed, signal } from "@preact/signals";
import type { EndpointStats } from "../api/types";
import { details, endpoints } from "./details";
import { endpointHistory } from "./history";
import { cluster } from "./live";

/** Shares are taken over so many seconds: those of a single one jump. */
const SHARE_SECONDS = 10;

/** An endpoint as the table shows it. */
export interface Row {
  stats: EndpointStats;
  share: number;
  /** The share that its weight would give it. */
  ideal: number;
  reason: string;
}

export type Column = "id" | "state" | "share" | "requests" | "errors" | "inFlight" | "p50" | "p99";

const VALUE: Record<Column, (row: Row) => number | string> = {
  id: (row) => row.stats.id,
  state: (row) => row.stats.state,
  share: (row) => row.share,
  requests: (row) => row.stats.requests_per_second,
  errors: (row) => row.stats.errors_per_second + row.stats.failures_per_second,
  inFlight: (row) => row.stats.in_flight,
  p50: (row) => row.stats.latency_ms.p50,
  p99: (row) => row.stats.latency_ms.p99,
};

/** What somebody looks for in ids, states, zones, addresses. */
export const filter = signal("");

/** By what the table is sorted, and whether the largest comes first. */
export const sorting = signal<{ column: Column; falls: boolean }>({ column: "id", falls: false });

export function sortBy(column: Column): void {
  const { column: before, falls } = sorting.value;
  const isText = column === "id" || column === "state";
  sorting.value = { column, falls: column === before ? !falls : !isText };
}

/** All endpoints of the cluster on the page, with their shares. */
const all = computed<Row[]>(() => {
  const now = cluster.value;
  if (!now) return [];
  const recent = now.endpoints.map((one) => sum(endpointHistory(now.name, one.id).slice(-SHARE_SECONDS)));
  const total = sum(recent) || 1;
  const weights = sum(now.endpoints.map((one) => one.weight)) || 1;
  const known = details.value?.name === now.name ? endpoints.value : null;
  return now.endpoints.map((stats, at) => ({
    stats,
    share: (recent[at] ?? 0) / total,
    ideal: stats.weight / weights,
    reason: known?.get(stats.id)?.reason ?? "",
  }));
});

/** The rows that the table shows, in its order. */
export const rows = computed<Row[]>(() => {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = words.length ? all.value.filter((row) => words.every((word) => text(row).includes(word))) : [...all.value];
  const { column, falls } = sorting.value;
  const value = VALUE[column];
  // Without a fixed order among equals, rows would change places for nothing.
  return found.sort((a, b) => (falls ? -1 : 1) * compare(value(a), value(b)) || compare(a.stats.id, b.stats.id));
});

/** What a full bar stands for: a step that seldom changes, so that bars do not breathe. */
export const shareMost = computed(() => {
  const most = Math.max(0.001, ...all.value.map((row) => Math.max(row.share, row.ideal)));
  return [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5].find((step) => most * 1.05 <= step) ?? 1;
});

/** What the top of a sparkline stands for. */
export const requestsMost = computed(() => {
  const name = cluster.value?.name ?? "";
  let most = 1;
  for (const row of all.value) for (const value of endpointHistory(name, row.stats.id)) most = Math.max(most, value);
  return most;
});

export const rowOf = (id: string): Row | undefined => all.value.find((row) => row.stats.id === id);

function text(row: Row): string {
  const known = endpoints.peek().get(row.stats.id);
  return `${row.stats.id} ${row.stats.state} ${known?.zone ?? ""} ${known?.address ?? ""}`.toLowerCase();
}

function compare(a: number | string, b: number | string): number {
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
}

function sum(values: readonly number[]): number {
  let all = 0;
  for (const value of values) all += value;
  return all;
}
