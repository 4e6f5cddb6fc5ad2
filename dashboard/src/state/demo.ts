import { effect, signal } from "@preact/signals";
import { call } from "../api/call";
import { clusterNames } from "./live";
import { isVisible } from "./visible";

const EVERY_MS = 5_000;

/** The backends of `evenkeel demo`, and how they are told to be; nothing elsewhere. */
export interface Demo {
  moods: string[];
  backends: { id: string; mood: string }[];
}

export const demo = signal<Demo | null>(null);

/** The demo's cluster has this name; other gateways are not asked for calls that only the demo has. */
const NAME = "demo";

export function startDemo(): void {
  effect(() => {
    if (clusterNames.value !== NAME || !isVisible.value) return;
    void refresh();
    // Another page may have told them something else.
    const timer = setInterval(() => void refresh(), EVERY_MS);
    return () => clearInterval(timer);
  });
}

export async function setMood(backend: string, mood: string): Promise<void> {
  await call("PUT", `/demo/${encodeURIComponent(backend)}/${encodeURIComponent(mood)}`);
  await refresh();
}

async function refresh(): Promise<void> {
  demo.value = await call<Demo>("GET", "/demo").catch(() => null);
}
