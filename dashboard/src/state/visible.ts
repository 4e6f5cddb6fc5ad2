import { signal } from "@preact/signals";

/** Whether the page can be seen. */
export const isVisible = signal(!document.hidden);

document.addEventListener("visibilitychange", () => {
  isVisible.value = !document.hidden;
});
