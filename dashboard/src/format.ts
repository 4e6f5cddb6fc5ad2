/** Figures as people read them: short, and never wider than their column. */

export function count(value: number): string {
  if (value >= 1e6) return `${(value / 1e6).toFixed(2)}M`;
  if (value >= 1e4) return `${(value / 1e3).toFixed(1)}K`;
  return value >= 100 || Number.isInteger(value) ? value.toFixed(0) : value.toFixed(1);
}

/** Milliseconds, with the unit that fits; nothing when there was no answer. */
export function duration(ms: number | null | undefined): string {
  if (!ms) return "–";
  if (ms >= 10_000) return `${(ms / 1000).toFixed(0)} s`;
  if (ms >= 1_000) return `${(ms / 1000).toFixed(2)} s`;
  if (ms >= 100) return `${ms.toFixed(0)} ms`;
  return ms >= 1 ? `${ms.toFixed(1)} ms` : `${(ms * 1000).toFixed(0)} µs`;
}

export function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

/** The time of day, as the reader's clock shows it. */
export function clock(time: string | Date): string {
  return new Date(time).toLocaleTimeString("en-GB");
}

/** A sentence of the gateway, with its times of day as the reader's clock shows them. */
export function sentence(text: string): string {
  return text.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, clock);
}

/** How long ago, roughly. */
export function ago(time: string, now: number): string {
  const seconds = Math.max(0, Math.round((now - Date.parse(time)) / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

/** A number with as many places as say something. */
export function score(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  if (Number.isInteger(value)) return String(value);
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e6 || size < 1e-3)) return value.toExponential(2);
  return value.toFixed(size >= 100 ? 1 : 3).replace(/\.?0+$/, "");
}

/** A word of the API as a reader's. */
export function word(text: string): string {
  return text.replaceAll("_", " ");
}
