import { effect, signal } from "@preact/signals";
import { call, inCluster } from "../api/call";
import type { Shadow } from "../api/types";
import { clusterName, isPaused } from "./live";
import { tokenIsWanted } from "./token";
import { isVisible } from "./visible";

const EVERY_MS = 3_000;

/** The strategies that are evaluated beside the live one. */
export const shadows = signal<Shadow[]>([]);

/** Whether the gateway has told which there are. */
export const asked = signal(false);

export function startShadows(): void {
  effect(() => {
    const name = clusterName.value;
    if (!name || !isVisible.value || isPaused.value || tokenIsWanted.value) return;
    let wanted = true;
    const refresh = async () => {
      const told = await call<Shadow[]>("GET", inCluster(name, "shadow")).catch(() => null);
      if (!wanted || !told) return;
      shadows.value = told;
      asked.value = true;
    };
    shadows.value = [];
    asked.value = false;
    void refresh();
    const timer = setInterval(() => void refresh(), EVERY_MS);
    return () => {
      wanted = false;
      clearInterval(timer);
    };
  });
}
