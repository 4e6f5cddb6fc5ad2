import { signal } from "@preact/signals";

const KEY = "evenkeel.token";

/** The bearer token that calls carry; lives as long as the tab. */
export const token = signal(sessionStorage.getItem(KEY) ?? "");

/** Whether a call was refused for want of the right one. */
export const tokenIsWanted = signal(false);

/** Counts tokens that were given: streams begin anew with each. */
export const tokenTurn = signal(0);

export function giveToken(text: string): void {
  sessionStorage.setItem(KEY, text);
  token.value = text;
  tokenIsWanted.value = false;
  tokenTurn.value++;
}
