import { computed, effect, signal } from "@preact/signals";
import { follow } from "../api/stream";
import type { GatewayEvent } from "../api/types";
import { clusterName } from "./live";
import { tokenIsWanted, tokenTurn } from "./token";
import { isVisible } from "./visible";

/** As many as the gateway itself remembers. */
const KEPT = 1_000;

/** What happened, the newest first. */
export const events = signal<GatewayEvent[]>([]);

/** What happened to the cluster on the page, or to the whole gateway. */
export const eventsHere = computed(() =>
  events.value.filter((one) => one.cluster === undefined || one.cluster === null || one.cluster === clusterName.value),
);

export function startEvents(): void {
  let fresh: GatewayEvent[] = [];
  effect(() => {
    void tokenTurn.value;
    if (!isVisible.value || tokenIsWanted.value) return;
    const end = new AbortController();
    // A reader who was away asks for what came after the last one that is on the page. Without one, after none: a
    // gateway that was started anew counts from 1 again.
    const last = events.peek()[0];
    const path = last ? `/events?since=${last.number}` : "/events";
    void follow<GatewayEvent>(path, end.signal, take, () => undefined);
    return () => end.abort();
  });
  function take(event: GatewayEvent): void {
    fresh.unshift(event);
    // The first answer brings up to a thousand: they are drawn once.
    if (fresh.length === 1) {
      queueMicrotask(() => {
        events.value = [...fresh, ...events.peek()].slice(0, KEPT);
        fresh = [];
      });
    }
  }
}
