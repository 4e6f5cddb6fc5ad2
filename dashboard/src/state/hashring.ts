import { computed, effect, signal } from "@preact/signals";
import { call, inCluster } from "../api/call";
import type { KeyMap } from "../api/types";
import { cluster, clusterName, isPaused } from "./live";
import { strategies } from "./strategies";
import { tokenIsWanted } from "./token";
import { isVisible } from "./visible";

/** Between two looks, when nothing seems to have changed. */
const EVERY_MS = 30_000;

/** Where keys live; nothing under a strategy that does not choose by key. */
export const keyMap = signal<KeyMap | null>(null);

/** Changes whenever keys may move: an endpoint comes, goes, warms up, or stands differently. */
const standing = computed(() => {
  const now = cluster.value;
  const isByKey = strategies.value.some((one) => one.by_key && one.name === now?.strategy);
  if (!now || !isByKey) return "";
  return now.endpoints.map((one) => `${one.id}:${one.state}:${one.effective_weight.toFixed(1)}`).join(" ") + now.strategy;
});

export function startHashRing(): void {
  effect(() => {
    const name = clusterName.value;
    const by = standing.value;
    if (!by) keyMap.value = null;
    if (!name || !by || !isVisible.value || isPaused.value || tokenIsWanted.value) return;
    let wanted = true;
    const refresh = async () => {
      const told = await call<KeyMap>("GET", inCluster(name, "keys")).catch(() => null);
      if (wanted && told) keyMap.value = told;
    };
    void refresh();
    const timer = setInterval(() => void refresh(), EVERY_MS);
    return () => {
      wanted = false;
      clearInterval(timer);
    };
  });
}
