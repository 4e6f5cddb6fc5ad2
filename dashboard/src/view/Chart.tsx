import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { eventsHere } from "../state/events";
import { CLUSTER_SECONDS } from "../state/history";
import { frame } from "../state/live";
import { theme } from "../state/theme";

const HEIGHT = 132;
/** The least that is drawn: what was open for a second does not fill the width. */
const SECONDS_MIN = 120;

interface Line {
  name: string;
  values: readonly (number | null)[];
  /** A custom property of the style sheet. */
  colour: string;
  fill?: boolean;
}

interface Properties {
  title: string;
  cluster: string;
  time: number[];
  lines: Line[];
  show: (value: number) => string;
}

/** Lines over the last quarter of an hour; what happened meanwhile stands as marks. */
export function Chart({ title, time, lines, show }: Properties) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const data = () => [time, ...lines.map((line) => line.values)] as uPlot.AlignedData;
  useEffect(() => {
    const here = place.current;
    if (!here) return;
    const made = new uPlot(options(here.clientWidth, lines, show), data(), here);
    plot.current = made;
    const resized = new ResizeObserver(() => made.setSize({ width: here.clientWidth, height: HEIGHT }));
    resized.observe(here);
    return () => {
      resized.disconnect();
      made.destroy();
    };
    // Colours are read from the style sheet once.
  }, [theme.value]);
  useEffect(() => plot.current?.setData(data()), [frame.value]);
  const newest = lines.map((line) => `${line.name} ${show(line.values.at(-1) ?? 0)}`).join(", ");
  return (
    <figure class="chart">
      <figcaption>
        {title}
        <span class="keys">
          {lines.map((line) => (
            <span key={line.name}>
              <i style={{ background: `var(${line.colour})` }} />
              {line.name}
            </span>
          ))}
        </span>
      </figcaption>
      <div ref={place} role="img" aria-label={`${title}: now ${newest}`} style={{ height: `${HEIGHT}px` }} />
    </figure>
  );
}

function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function options(width: number, lines: Line[], show: (value: number) => string): uPlot.Options {
  const axis = { stroke: colour("--ink-3"), font: "11px system-ui, sans-serif", ticks: { show: false } };
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, points: { size: 5 }, drag: { x: false, y: false } },
    padding: [6, 6, 0, 0],
    scales: {
      x: { range: (_, low, high) => [Math.max(high - CLUSTER_SECONDS, Math.min(low, high - SECONDS_MIN)), high] },
      y: { range: (_, __, high) => [0, Math.max(1, high * 1.1)] },
    },
    axes: [
      { ...axis, size: 22, grid: { show: false }, values: (_, splits) => splits.map(minute) },
      {
        ...axis,
        size: 54,
        grid: { stroke: colour("--line"), width: 1 },
        values: (_, splits) => splits.map((value) => (value === 0 ? "0" : show(value))),
        space: 32,
      },
    ],
    series: [
      {},
      ...lines.map((line) => ({
        stroke: colour(line.colour),
        width: 1.5,
        points: { show: false },
        ...(line.fill ? { fill: `color-mix(in srgb, ${colour(line.colour)} 12%, transparent)` } : {}),
      })),
    ],
    hooks: { drawClear: [marks] },
  };
}

function minute(seconds: number): string {
  return new Date(seconds * 1000).toLocaleTimeString("en-GB").slice(0, seconds % 60 ? 8 : 5);
}

/** A thin upright line where something happened. */
function marks(plot: uPlot): void {
  const { left, top, width, height } = plot.bbox;
  plot.ctx.save();
  plot.ctx.fillStyle = colour("--mark");
  for (const event of eventsHere.peek()) {
    const x = plot.valToPos(Date.parse(event.time) / 1000, "x", true);
    if (x >= left && x <= left + width) plot.ctx.fillRect(Math.round(x), top, devicePixelRatio, height);
  }
  plot.ctx.restore();
}
