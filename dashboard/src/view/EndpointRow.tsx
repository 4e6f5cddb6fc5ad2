import { count, duration, sentence } from "../format";
import { endpoints } from "../state/details";
import { dialog } from "../state/dialog";
import { endpointHistory } from "../state/history";
import { clusterName } from "../state/live";
import { linkTo } from "../state/route";
import { type Row, requestsMost, shareMost } from "../state/rows";
import { Share } from "./Share";
import { Sparkline } from "./Sparkline";
import { State } from "./State";

/** An endpoint in the table. */
export function EndpointRow({ row, number }: { row: Row; number: number }) {
  const { stats } = row;
  const failed = stats.errors_per_second + stats.failures_per_second;
  return (
    <div role="row" class="row" aria-rowindex={number}>
      <span role="cell">
        <State state={stats.state} />
      </span>
      <span role="cell" class="name">
        <a class="id" href={linkTo(clusterName.value, "endpoint", stats.id)} title={stats.id}>
          {stats.id}
        </a>
      </span>
      <span role="cell" class="right">
        <Share share={row.share} ideal={row.ideal} most={shareMost.value} />
      </span>
      <span role="cell" class="right c-requests">
        {count(stats.requests_per_second)}
      </span>
      <span role="cell" class={`right c-errors ${failed > 0 ? "bad" : "quiet"}`}>
        {count(failed)}
      </span>
      <span role="cell" class="right c-flight">
        {count(stats.in_flight)}
      </span>
      <span role="cell" class="right c-p50">
        {duration(stats.latency_ms.p50)}
      </span>
      <span role="cell" class="right">
        {duration(stats.latency_ms.p99)}
      </span>
      <span role="cell" class="c-spark">
        <Sparkline values={endpointHistory(clusterName.value, stats.id)} most={requestsMost.value} />
      </span>
      <span role="cell" class={`why c-why ${stats.state === "ready" ? "quiet" : ""}`} title={sentence(row.reason)}>
        {sentence(row.reason)}
      </span>
      <span role="cell" class="c-act">
        <DrainButton id={stats.id} />
      </span>
    </div>
  );
}

function DrainButton({ id }: { id: string }) {
  const endpoint = endpoints.value.get(id);
  const isIn = endpoint?.admin !== "draining" && endpoint?.admin !== "disabled";
  const ask = () => {
    if (endpoint) dialog.value = { kind: "admin", endpoint, admin: isIn ? "draining" : "enabled" };
  };
  return (
    <button type="button" class="small" disabled={!endpoint} aria-label={`${isIn ? "Drain" : "Enable"} ${id}`} onClick={ask}>
      {isIn ? "Drain…" : "Enable…"}
    </button>
  );
}
