import { signal } from "@preact/signals";
import type { Endpoint } from "../api/types";

/** What lies over the page, one thing at a time. */
export type Dialog =
  | { kind: "add" }
  | { kind: "keys" }
  | { kind: "strategy" }
  | { kind: "admin"; endpoint: Endpoint; admin: Endpoint["admin"] }
  | { kind: "weight"; endpoint: Endpoint }
  | { kind: "remove"; endpoint: Endpoint };

export const dialog = signal<Dialog | null>(null);
