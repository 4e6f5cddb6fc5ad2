import { effect, signal } from "@preact/signals";
import { call } from "../api/call";
import type { StrategyInfo } from "../api/types";
import { clusterName } from "./live";
import { tokenIsWanted } from "./token";
import { isVisible } from "./visible";

/** The strategies that the gateway has; asked for once, as they are built in. */
export const strategies = signal<StrategyInfo[]>([]);

export function startStrategies(): void {
  effect(() => {
    // A gateway that is reached: until then there is no use in asking.
    if (!clusterName.value || !isVisible.value || tokenIsWanted.value || strategies.peek().length) return;
    call<StrategyInfo[]>("GET", "/strategies").then((told) => (strategies.value = told), () => undefined);
  });
}
