import { signal } from "@preact/signals";
import { call, inCluster } from "../api/call";
import type { Endpoint, Strategy } from "../api/types";
import { refreshDetails } from "./details";

/** Something that was done from this page, and how to take it back. */
export interface Change {
  words: string;
  undo: (() => Promise<unknown>) | null;
}

/** What was done, the newest last. */
export const changes = signal<Change[]>([]);

/** What is said at the foot of the page. */
export const notice = signal<{ words: string; isError: boolean; undo: boolean } | null>(null);

async function done(words: string, undo: () => Promise<unknown>): Promise<void> {
  changes.value = [...changes.value, { words, undo }];
  notice.value = { words, isError: false, undo: true };
  await refreshDetails();
}

/** Takes back the last thing that was done. */
export async function undoLast(): Promise<void> {
  const last = changes.value.at(-1);
  if (!last?.undo) return;
  changes.value = changes.value.slice(0, -1);
  try {
    await last.undo();
    notice.value = { words: `Taken back: ${last.words}`, isError: false, undo: false };
  } catch (error) {
    notice.value = { words: `Could not be taken back: ${(error as Error).message}`, isError: true, undo: false };
  }
  await refreshDetails();
}

export async function setAdmin(cluster: string, endpoint: Endpoint, admin: Endpoint["admin"]): Promise<void> {
  const path = inCluster(cluster, "endpoints", endpoint.id);
  await call("PATCH", path, { admin });
  const words = { enabled: "takes requests again", draining: "drains", disabled: "is disabled" }[admin];
  await done(`${endpoint.id} ${words}`, () => call("PATCH", path, { admin: endpoint.admin }));
}

export async function setWeight(cluster: string, endpoint: Endpoint, weight: number): Promise<void> {
  const path = inCluster(cluster, "endpoints", endpoint.id);
  await call("PATCH", path, { weight });
  const words = `${endpoint.id} has weight ${weight}, before ${endpoint.weight}`;
  await done(words, () => call("PATCH", path, { weight: endpoint.weight }));
}

export type NewEndpoint = Partial<Pick<Endpoint, "id" | "weight" | "zone" | "tier" | "labels" | "capacity">> & {
  address: string;
};

export async function addEndpoint(cluster: string, endpoint: NewEndpoint): Promise<void> {
  const added = await call<Endpoint>("POST", `${inCluster(cluster)}/endpoints`, endpoint);
  await done(`${added.id} was added`, () => call("DELETE", inCluster(cluster, "endpoints", added.id)));
}

export async function removeEndpoint(cluster: string, endpoint: Endpoint): Promise<void> {
  await call("DELETE", inCluster(cluster, "endpoints", endpoint.id));
  await done(`${endpoint.id} was removed`, async () => {
    const { id, address, weight, tier, labels } = endpoint;
    const back: NewEndpoint = { id, address, weight, tier, labels };
    if (endpoint.zone !== null) back.zone = endpoint.zone;
    if (endpoint.capacity !== null) back.capacity = endpoint.capacity;
    await call("POST", `${inCluster(cluster)}/endpoints`, back);
    if (endpoint.admin !== "enabled") {
      await call("PATCH", inCluster(cluster, "endpoints", id), { admin: endpoint.admin });
    }
  });
}

export async function setStrategy(cluster: string, before: Strategy, after: Strategy): Promise<void> {
  const put = (one: Strategy) => call("PUT", `${inCluster(cluster)}/strategy`, one);
  await put(after);
  await done(`${cluster} chooses by ${after.name}, before by ${before.name}`, () => put(before));
}
