import { ENDPOINT_SECONDS } from "../state/history";

const WIDTH = 90;
const HEIGHT = 20;

/** The last minute of an endpoint, growing from the right edge. */
export function Sparkline({ values, most }: { values: readonly number[]; most: number }) {
  const step = WIDTH / (ENDPOINT_SECONDS - 1);
  const start = WIDTH - (values.length - 1) * step;
  const y = (value: number) => HEIGHT - 1 - (Math.min(value, most) / (most || 1)) * (HEIGHT - 2);
  const points = values.map((value, at) => `${(start + at * step).toFixed(1)},${y(value).toFixed(1)}`);
  return (
    <svg class="sparkline" width={WIDTH} height={HEIGHT} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
      <polyline points={points.join(" ")} />
    </svg>
  );
}
