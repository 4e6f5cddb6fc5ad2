import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { dialog } from "../state/dialog";
import { cluster } from "../state/live";
import { type Column, filter, rows, sortBy, sorting } from "../state/rows";
import { EndpointRow } from "./EndpointRow";

/** The height of a row in pixels, as the style sheet has it. */
const ROW = 34;
/** Rows beyond both edges that are drawn, so that scrolling shows no gaps. */
const BEYOND = 8;

const COLUMNS: { column: Column | null; name: string; kind: string }[] = [
  { column: "state", name: "state", kind: "" },
  { column: "id", name: "endpoint", kind: "" },
  { column: "share", name: "share %", kind: "right" },
  { column: "requests", name: "req/s", kind: "right c-requests" },
  { column: "errors", name: "failed/s", kind: "right c-errors" },
  { column: "inFlight", name: "in flight", kind: "right c-flight" },
  { column: "p50", name: "p50", kind: "right c-p50" },
  { column: "p99", name: "p99", kind: "right" },
  { column: null, name: "last minute", kind: "c-spark" },
  { column: null, name: "why", kind: "c-why" },
  { column: null, name: "", kind: "c-act" },
];

/** The endpoints; of a thousand only those in view are drawn. */
export function EndpointTable() {
  const view = useRef<HTMLDivElement>(null);
  const scrolled = useSignal(0);
  const height = useSignal(480);
  useEffect(() => {
    const here = view.current;
    if (!here) return;
    const resized = new ResizeObserver(() => (height.value = here.clientHeight));
    resized.observe(here);
    return () => resized.disconnect();
  }, []);
  const all = rows.value;
  const first = Math.max(0, Math.min(Math.floor(scrolled.value / ROW), all.length) - BEYOND);
  const shown = all.slice(first, first + Math.ceil(height.value / ROW) + 2 * BEYOND);
  return (
    <section aria-label="Endpoints" class="panel endpoints">
      <div class="bar-above">
        <h2>Endpoints</h2>
        <input
          id="filter"
          type="search"
          placeholder="Filter: id, state, zone…"
          aria-label="Filter the endpoints"
          value={filter.value}
          onInput={(event) => (filter.value = event.currentTarget.value)}
        />
        <span class="quiet">
          {all.length} of {cluster.value?.endpoints.length ?? 0}
        </span>
        <button type="button" onClick={() => (dialog.value = { kind: "add" })}>
          Add…
        </button>
      </div>
      <div
        role="table"
        aria-label="Endpoints"
        aria-rowcount={all.length + 1}
        class="table"
        ref={view}
        onScroll={(event) => (scrolled.value = event.currentTarget.scrollTop)}
        onKeyDown={step}
      >
        <div role="rowgroup" class="names">
          <div role="row" class="row">
            {COLUMNS.map(({ column, name, kind }) => (
              <Name key={name} column={column} name={name} kind={kind} />
            ))}
          </div>
        </div>
        <div role="rowgroup" class="rows">
          {/* Room for those that are not drawn; without it the scroll bar would lie. */}
          <div role="presentation" style={{ height: `${first * ROW}px` }} />
          {shown.map((row, at) => (
            <EndpointRow key={row.stats.id} row={row} number={first + at + 2} />
          ))}
          <div role="presentation" style={{ height: `${(all.length - first - shown.length) * ROW}px` }} />
          {all.length === 0 && <p class="nothing">{filter.value ? "No endpoint is like that." : "There are no endpoints."}</p>}
        </div>
      </div>
    </section>
  );
}

function Name({ column, name, kind }: { column: Column | null; name: string; kind: string }) {
  if (!column) {
    return (
      <span role="columnheader" class={kind}>
        {name || <span class="unseen">actions</span>}
      </span>
    );
  }
  const { column: chosen, falls } = sorting.value;
  const order = column === chosen ? (falls ? "descending" : "ascending") : "none";
  return (
    <span role="columnheader" class={kind} aria-sort={order}>
      <button type="button" class="plain" onClick={() => sortBy(column)}>
        {name}
        {column === "share" && <span class="wide-only"> / by weight</span>}
        <span aria-hidden="true" class="order">
          {order === "none" ? "" : falls ? " ↓" : " ↑"}
        </span>
      </button>
    </span>
  );
}

/** Arrows go from row to row; rows beyond the edge are drawn already, and scroll into view. */
function step(event: KeyboardEvent): void {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const row = (event.target as HTMLElement).closest(".row");
  if (!by || !row) return;
  const next = by > 0 ? row.nextElementSibling : row.previousElementSibling;
  const link = next?.querySelector<HTMLElement>(".id");
  if (!link) return;
  event.preventDefault();
  link.focus({ preventScroll: true });
  link.closest(".row")?.scrollIntoView({ block: "nearest" });
}
