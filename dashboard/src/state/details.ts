import { computed, effect, signal } from "@preact/signals";
import { call, inCluster } from "../api/call";
import type { Cluster, Endpoint } from "../api/types";
import { cluster, clusterName } from "./live";
import { isVisible } from "./visible";

/** Figures come once a second; what they lack (reasons, addresses, parameters) when something changed, or so often. */
const EVERY_MS = 10_000;

export const details = signal<Cluster | null>(null);

/** The endpoints of the cluster on the page, by id. */
export const endpoints = computed(() => new Map<string, Endpoint>(details.value?.endpoints.map((one) => [one.id, one])));

/** Changes whenever an endpoint comes, goes, or stands differently. */
const standing = computed(() => {
  const now = cluster.value;
  return now ? `${now.strategy} ${now.endpoints.map((one) => `${one.id}:${one.state}:${one.weight}`).join(" ")}` : "";
});

export async function refreshDetails(): Promise<void> {
  const name = clusterName.peek();
  if (!name) return;
  try {
    const told = await call<Cluster>("GET", inCluster(name));
    if (name === clusterName.peek()) details.value = told;
  } catch {
    // The streams tell when the gateway is away; what was known stays.
  }
}

export function startDetails(): void {
  effect(() => {
    if (!standing.value || !isVisible.value) return;
    if (details.peek()?.name !== clusterName.value) details.value = null;
    void refreshDetails();
    const timer = setInterval(() => void refreshDetails(), EVERY_MS);
    return () => clearInterval(timer);
  });
}
