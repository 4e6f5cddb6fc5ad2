import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { KeyMap } from "../api/types";
import { percent } from "../format";
import { keyMap } from "../state/hashring";
import { theme } from "../state/theme";

/** In CSS pixels. */
const SIDE = 220;
const THICK = 26;

/** Of more endpoints, those with the most keys. */
const SHOWN = 12;

const TITLES: Record<string, string> = {
  ring_hash: "The ring",
  maglev: "The table, slot by slot",
};

/** Where keys live: the ring or the table as a circle, and each endpoint's share of the keys beside its weight's. */
export function HashRing() {
  const picked = useSignal<number | null>(null);
  const map = keyMap.value;
  if (!map) return null;
  const weights = map.endpoints.reduce((sum, one) => sum + one.weight, 0) || 1;
  const order = map.endpoints.map((one, place) => ({ ...one, place })).sort((a, b) => b.now - a.now || b.home - a.home);
  const most = Math.max(...order.map((one) => Math.max(one.now, one.weight / weights)), 1e-9);
  const moved = order.reduce((sum, one) => sum + Math.max(0, one.home - one.now), 0);
  return (
    <section aria-label="Where keys live" class="panel keys-live">
      <div class="bar-above">
        <h2>Where keys live</h2>
        <span class="quiet">
          {moved < 0.0005 ? "every key is at home" : `${percent(moved)} of the keys are away from home: theirs is not ready, or warms up`}
        </span>
      </div>
      <div class="parts">
        {map.places.length > 0 && <Circle map={map} picked={picked.value} title={TITLES[map.strategy] ?? ""} />}
        <ul onMouseLeave={() => (picked.value = null)}>
          {order.slice(0, SHOWN).map((one) => (
            <li
              key={one.id}
              tabIndex={0}
              onMouseEnter={() => (picked.value = one.place)}
              onFocus={() => (picked.value = one.place)}
              onBlur={() => (picked.value = null)}
              title={`${one.id}: ${percent(one.now)} of the keys now, ${percent(one.home)} live there; by weight ${percent(one.weight / weights)}`}
            >
              <i class="dot" style={{ background: hue(one.place, order.length) }} aria-hidden="true" />
              <span class="name">{one.id}</span>
              <span class="bar" aria-hidden="true">
                <span class="fill" style={{ width: wide(one.now / most), background: hue(one.place, order.length) }} />
                <span class="tick" style={{ left: wide(one.weight / weights / most) }} />
              </span>
              <span class="number">{percent(one.now)}</span>
              <span class="number quiet">of {percent(one.weight / weights)}</span>
            </li>
          ))}
          {order.length > SHOWN && <li class="quiet">and {order.length - SHOWN} more, each with less</li>}
        </ul>
      </div>
    </section>
  );
}

function wide(part: number): string {
  return `${Math.min(100, part * 100).toFixed(1)}%`;
}

/** A colour for each endpoint, as far from its neighbours as so many allow. */
function hue(place: number, count: number): string {
  const step = count > 24 ? 0.618034 : 1 / count;
  const light = theme.value === "dark" ? 68 : 45;
  return `hsl(${((place * step * 360 + 195) % 360).toFixed(0)} 55% ${light - (place % 2) * 7}%)`;
}

/** The circle of keys, from the top on and clockwise: inside who they live with, outside who takes them now. */
function Circle({ map, picked, title }: { map: KeyMap; picked: number | null; title: string }) {
  const place = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const canvas = place.current;
    const pen = canvas?.getContext("2d");
    if (!canvas || !pen) return;
    const scale = devicePixelRatio || 1;
    canvas.width = canvas.height = SIDE * scale;
    pen.scale(scale, scale);
    draw(pen, map, picked);
  }, [map, picked, theme.value]);
  const words = `${title}: ${map.endpoints.length} endpoints in ${runs(map.places.map(([, now]) => now)).length} arcs`;
  return (
    <figure>
      <canvas ref={place} role="img" aria-label={words} style={{ width: `${SIDE}px`, height: `${SIDE}px` }} />
      <figcaption>
        {title}
        <span class="quiet">outside: who takes the keys now; inside: where they live</span>
      </figcaption>
    </figure>
  );
}

function draw(pen: CanvasRenderingContext2D, map: KeyMap, picked: number | null): void {
  const middle = SIDE / 2;
  const all = map.places.length;
  const ring = (owners: number[], radius: number, thick: number) => {
    pen.lineWidth = thick;
    for (const { from, to, owner } of runs(owners)) {
      pen.globalAlpha = picked === null || picked === owner ? 1 : 0.15;
      pen.strokeStyle = hue(owner, map.endpoints.length);
      pen.beginPath();
      const angle = (at: number) => (at / all) * 2 * Math.PI - Math.PI / 2;
      pen.arc(middle, middle, radius, angle(from), angle(to));
      pen.stroke();
    }
  };
  ring(map.places.map(([, now]) => now), middle - THICK / 2 - 1, THICK);
  ring(map.places.map(([home]) => home), middle - THICK - 8, 8);
}

function runs(owners: number[]): { from: number; to: number; owner: number }[] {
  const all: { from: number; to: number; owner: number }[] = [];
  owners.forEach((owner, at) => {
    const last = all.at(-1);
    if (last?.owner === owner) last.to = at + 1;
    else all.push({ from: at, to: at + 1, owner });
  });
  return all;
}
