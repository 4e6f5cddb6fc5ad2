import { effect, signal } from "@preact/signals";
import { call } from "../api/call";
import type { Receipt } from "../api/types";
import { clusterName, isPaused } from "./live";
import { tokenIsWanted } from "./token";
import { isVisible } from "./visible";

const EVERY_MS = 2_000;
const SHOWN = 40;

/** The latest receipts, the newest first. */
export const decisions = signal<Receipt[]>([]);

/** Only those of this endpoint, when it is not empty. */
export const decisionsOf = signal("");

/** Why there are none, when the gateway says so. */
export const decisionsRefused = signal("");

export function startDecisions(): void {
  effect(() => {
    const name = clusterName.value;
    const endpoint = decisionsOf.value;
    if (!name || !isVisible.value || isPaused.value || tokenIsWanted.value) return;
    let wanted = true;
    const query = new URLSearchParams({ cluster: name, limit: String(SHOWN) });
    if (endpoint) query.set("endpoint", endpoint);
    const refresh = async () => {
      try {
        const told = await call<Receipt[]>("GET", `/decisions?${query}`);
        if (wanted) decisions.value = told;
        decisionsRefused.value = "";
      } catch (error) {
        decisionsRefused.value = (error as Error).message;
      }
    };
    void refresh();
    const timer = setInterval(() => void refresh(), EVERY_MS);
    return () => {
      wanted = false;
      clearInterval(timer);
    };
  });
}
