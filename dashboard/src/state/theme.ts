import { effect, signal } from "@preact/signals";

const KEY = "evenkeel.theme";
const system = matchMedia("(prefers-color-scheme: dark)");

/** Dark or light: what was chosen here, else what the system says. */
export const theme = signal<"dark" | "light">(read());

system.addEventListener("change", () => {
  theme.value = read();
});

effect(() => {
  document.documentElement.dataset.theme = theme.value;
});

export function switchTheme(): void {
  theme.value = theme.value === "dark" ? "light" : "dark";
  localStorage.setItem(KEY, theme.value);
}

function read(): "dark" | "light" {
  const chosen = localStorage.getItem(KEY);
  if (chosen === "dark" || chosen === "light") return chosen;
  return system.matches ? "dark" : "light";
}
