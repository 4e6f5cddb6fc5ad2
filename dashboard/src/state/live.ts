import { computed, effect, signal } from "@preact/signals";
import { follow } from "../api/stream";
import type { ClusterStats, Stats } from "../api/types";
import { remember } from "./history";
import { route } from "./route";
import { tokenIsWanted, tokenTurn } from "./token";
import { isVisible } from "./visible";

/** The figures on the page: the newest, or those of the moment at which it was paused. */
export const frame = signal<Stats | null>(null);

/** Whether the picture stands still; figures are taken all the same. */
export const isPaused = signal(false);

/** Whether the gateway can be reached, and if not, since when. */
export const lostSince = signal<Date | null>(null);

/** The cluster on the page. */
export const cluster = computed<ClusterStats | null>(() => {
  const all = frame.value?.clusters ?? [];
  return all.find((one) => one.name === route.value.cluster) ?? all[0] ?? null;
});

export const clusterName = computed(() => cluster.value?.name ?? "");

/** The names of all clusters in one text, which changes only when they do. */
export const clusterNames = computed(() => (frame.value?.clusters ?? []).map((one) => one.name).join("\n"));

/** Reads figures for as long as somebody looks: a page in the background costs the gateway nothing. */
export function startLive(): void {
  effect(() => {
    void tokenTurn.value;
    if (!isVisible.value || tokenIsWanted.value) return;
    const end = new AbortController();
    void follow<Stats>("/stats/stream", end.signal, take, said);
    return () => end.abort();
  });
}

function take(stats: Stats): void {
  remember(stats);
  if (!isPaused.peek()) frame.value = stats;
}

function said(isUp: boolean): void {
  if (isUp) lostSince.value = null;
  else lostSince.value ??= new Date();
}
