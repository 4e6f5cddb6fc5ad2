import { undoLast } from "./changes";
import { dialog } from "./dialog";
import { isPaused } from "./live";
import { route } from "./route";
import { switchTheme } from "./theme";

/** The keys of the page, as they act and as they are told. */
export const KEYS: { key: string; does: string; act: () => void }[] = [
  { key: "/", does: "filter the endpoints", act: () => document.getElementById("filter")?.focus() },
  { key: "e", does: "to the table of endpoints; ↑ ↓ move, Enter opens", act: () => firstRow()?.focus() },
  { key: "a", does: "add an endpoint", act: () => (dialog.value = { kind: "add" }) },
  { key: "s", does: "switch the strategy", act: () => (dialog.value = { kind: "strategy" }) },
  { key: "u", does: "undo the last change", act: () => void undoLast() },
  { key: "p", does: "pause the picture, or let it run", act: () => (isPaused.value = !isPaused.value) },
  { key: "t", does: "dark or light", act: switchTheme },
  { key: "?", does: "these keys", act: () => (dialog.value = { kind: "keys" }) },
];

export function startKeys(): void {
  document.addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    const isTyping = target.closest("input, select, textarea, dialog") !== null;
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    if (dialog.value || route.value.endpoint || route.value.request) return;
    const found = KEYS.find((one) => one.key === event.key);
    if (!found) return;
    event.preventDefault();
    found.act();
  });
}

function firstRow(): HTMLElement | null {
  return document.querySelector<HTMLElement>(".rows .id");
}
