import type { Stats } from "../api/types";

/** How far back a cluster is remembered: a quarter of an hour. */
export const CLUSTER_SECONDS = 900;
/** How far back an endpoint is remembered. */
export const ENDPOINT_SECONDS = 60;

/** The seconds of a cluster, oldest first; times in seconds since 1970, for uPlot. */
export interface ClusterHistory {
  time: number[];
  requests: number[];
  errors: number[];
  retries: number[];
  inFlight: number[];
  p50: (number | null)[];
  p99: (number | null)[];
}

const clusters = new Map<string, ClusterHistory>();
const endpoints = new Map<string, Map<string, number[]>>();
const EMPTY: ClusterHistory = { time: [], requests: [], errors: [], retries: [], inFlight: [], p50: [], p99: [] };

export function clusterHistory(cluster: string): ClusterHistory {
  return clusters.get(cluster) ?? EMPTY;
}

/** Requests a second of an endpoint, oldest first. */
export function endpointHistory(cluster: string, id: string): readonly number[] {
  return endpoints.get(cluster)?.get(id) ?? [];
}

/** Takes in a second, and forgets who is gone. */
export function remember(stats: Stats): void {
  const time = Date.parse(stats.time) / 1000;
  for (const cluster of stats.clusters) {
    const of: ClusterHistory = clusters.get(cluster.name) ?? structuredClone(EMPTY);
    clusters.set(cluster.name, of);
    // A second without an answer has no latency: a gap, not a zero.
    const isSilent = cluster.latency_ms.p99 === 0;
    push(of.time, time, CLUSTER_SECONDS);
    push(of.requests, cluster.requests_per_second, CLUSTER_SECONDS);
    push(of.errors, cluster.errors_per_second, CLUSTER_SECONDS);
    push(of.retries, cluster.retries_per_second, CLUSTER_SECONDS);
    push(of.inFlight, cluster.in_flight, CLUSTER_SECONDS);
    push(of.p50, isSilent ? null : cluster.latency_ms.p50, CLUSTER_SECONDS);
    push(of.p99, isSilent ? null : cluster.latency_ms.p99, CLUSTER_SECONDS);
    const before = endpoints.get(cluster.name);
    const now = new Map<string, number[]>();
    for (const endpoint of cluster.endpoints) {
      const values = before?.get(endpoint.id) ?? [];
      push(values, endpoint.requests_per_second, ENDPOINT_SECONDS);
      now.set(endpoint.id, values);
    }
    endpoints.set(cluster.name, now);
  }
}

function push<T>(values: T[], value: T, most: number): void {
  values.push(value);
  if (values.length > most) values.shift();
}
