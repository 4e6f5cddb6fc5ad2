import { percent } from "../format";

/** What an endpoint gets as a bar, and what its weight would give it as a tick on it. */
export function Share({ share, ideal, most }: { share: number; ideal: number; most: number }) {
  const wide = (part: number) => `${Math.min(100, (part / most) * 100).toFixed(1)}%`;
  const words = `${percent(share)} of the answers of the last ten seconds; by weight ${percent(ideal)}`;
  return (
    <span class="share" title={words}>
      <span class="bar" aria-hidden="true">
        <span class="fill" style={{ width: wide(share) }} />
        <span class="tick" style={{ left: wide(ideal) }} />
      </span>
      <span class="number">{(share * 100).toFixed(1)}</span>
      <span class="number quiet">{(ideal * 100).toFixed(1)}</span>
    </span>
  );
}
