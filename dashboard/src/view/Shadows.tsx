import type { Shadow } from "../api/types";
import { count, percent } from "../format";
import { cluster } from "../state/live";
import { asked, shadows } from "../state/shadows";

/** Of more endpoints, those that differ most. */
const SHOWN = 8;

/** What other strategies would have chosen for the same requests; nothing where none is evaluated. */
export function Shadows() {
  if (shadows.value.length === 0) return asked.value ? <None /> : null;
  return (
    <section aria-label="Shadow strategies" class="panel shadows">
      <div class="bar-above">
        <h2>Which strategy would be better?</h2>
        <span class="quiet">evaluated on the same requests, beside {cluster.value?.strategy}; they send nothing</span>
      </div>
      <div class="cards">
        {shadows.value.map((one) => (
          <Card key={one.strategy} shadow={one} />
        ))}
      </div>
    </section>
  );
}

/** What to do to be told. */
function None() {
  return (
    <section aria-label="Shadow strategies" class="panel shadows">
      <div class="bar-above">
        <h2>Which strategy would be better?</h2>
        <span class="quiet">
          to be told, have some evaluated beside the live one: <code>shadow = {'{ strategies = ["prequal"] }'}</code> in <code>[cluster.{cluster.value?.name}]</code>
        </span>
      </div>
    </section>
  );
}

function Card({ shadow }: { shadow: Shadow }) {
  const live = total(shadow, "live");
  const other = total(shadow, "shadow");
  const rows = shadow.endpoints.map((one) => ({ id: one.id, live: one.live / live, shadow: one.shadow / other }));
  rows.sort((a, b) => Math.abs(b.live - b.shadow) - Math.abs(a.live - a.shadow));
  const most = Math.max(...rows.map((row) => Math.max(row.live, row.shadow)), 1e-9);
  const wide = (part: number) => ({ width: `${((part / most) * 100).toFixed(1)}%` });
  const sign = shadow.latency_difference_ms > 0 ? "+" : "";
  return (
    <article class="card">
      <h3>{shadow.strategy === "noise" ? "noise: the live one with another seed" : shadow.strategy}</h3>
      <p>{shadow.summary}</p>
      <p class="quiet">
        {count(shadow.decisions)} decisions, {percent(shadow.agreement)} alike, {sign}
        {shadow.latency_difference_ms.toFixed(1)} ms
      </p>
      <ul>
        {rows.slice(0, SHOWN).map((row) => (
          <li key={row.id} title={`${row.id}: gets ${percent(row.live)}, would get ${percent(row.shadow)}`}>
            <span class="name">{row.id}</span>
            <span class="two" aria-hidden="true">
              <i class="live" style={wide(row.live)} />
              <i class="other" style={wide(row.shadow)} />
            </span>
            <span class="number">
              {(row.live * 100).toFixed(1)} → {(row.shadow * 100).toFixed(1)} %
            </span>
          </li>
        ))}
      </ul>
    </article>
  );
}

function total(shadow: Shadow, which: "live" | "shadow"): number {
  return shadow.endpoints.reduce((sum, one) => sum + one[which], 0) || 1;
}
