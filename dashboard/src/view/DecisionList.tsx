import type { Receipt } from "../api/types";
import { clock, duration } from "../format";
import { linkTo } from "../state/route";

/** Decisions of late, each a link to its picture. */
export function DecisionList({ decisions }: { decisions: Receipt[] }) {
  if (decisions.length === 0) return <p class="nothing">No receipt was kept of late.</p>;
  return (
    <ol class="list">
      {decisions.map((one) => (
        <Decision key={`${one.request_id} ${one.attempt}`} receipt={one} />
      ))}
    </ol>
  );
}

/** Out of how many, or by what, it was chosen. */
function whom({ chosen, candidates, key_hash }: Receipt): string {
  if (candidates.length > 0) return `of ${candidates.length}`;
  return chosen && key_hash ? "by its key" : "";
}

function Decision({ receipt }: { receipt: Receipt }) {
  const { outcome } = receipt;
  const isBad = receipt.nobody !== null || outcome?.error || (outcome?.status ?? 0) >= 500;
  return (
    <li>
      <time dateTime={receipt.time}>{clock(receipt.time)}</time>
      <span class={isBad ? "bad" : "good"} aria-hidden="true">
        {isBad ? "▲" : "●"}
      </span>
      <a class="what" href={linkTo(receipt.cluster, "request", receipt.request_id ?? "")}>
        <strong>{receipt.chosen ?? `nobody: ${receipt.nobody}`}</strong>
        <span class="quiet">
          {" "}
          {whom(receipt)}
          {receipt.attempt > 1 && `, try ${receipt.attempt}`}
          {receipt.fallback && `, ${receipt.fallback}`}
        </span>
      </a>
      <span class="tail">
        {outcome?.status ?? outcome?.error ?? "under way"} <span class="quiet">{duration(outcome?.latency_ms)}</span>
      </span>
    </li>
  );
}
