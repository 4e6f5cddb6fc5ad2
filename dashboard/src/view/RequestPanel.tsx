import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { call } from "../api/call";
import type { Receipt } from "../api/types";
import { clock, duration } from "../format";
import { clusterName } from "../state/live";
import { go } from "../state/route";
import { Drawer } from "./Drawer";
import { ReceiptPicture } from "./ReceiptPicture";

/** Why a request went where it went: its tries, each as a picture. */
export function RequestPanel({ request }: { request: string }) {
  const receipt = useSignal<Receipt | null>(null);
  const refused = useSignal("");
  useEffect(() => {
    receipt.value = null;
    refused.value = "";
    call<Receipt>("GET", `/decisions/${encodeURIComponent(request)}`).then(
      (told) => (receipt.value = told),
      (error: Error) => (refused.value = error.message),
    );
  }, [request]);
  const last = receipt.value;
  const tries = last ? [...(last.earlier ?? []), last] : [];
  return (
    <Drawer title="Why this endpoint?" kind="edge" close={() => go(clusterName.value)}>
      <p class="quiet mono">{request}</p>
      {refused.value && (
        <p>
          {refused.value}. Receipts are kept of a share of the requests (<code>log.decision.sample</code>) and of every failure.
        </p>
      )}
      {tries.map((one) => (
        <section key={one.attempt} aria-label={`Try ${one.attempt}`}>
          {tries.length > 1 && <h3>Try {one.attempt}</h3>}
          <ReceiptPicture receipt={one} of="" />
          <Outcome receipt={one} />
        </section>
      ))}
    </Drawer>
  );
}

function Outcome({ receipt }: { receipt: Receipt }) {
  const { outcome } = receipt;
  const came = outcome ? `${outcome.status ?? "no answer"}${outcome.error ? `, ${outcome.error}` : ""}` : "still under way";
  return (
    <p class="quiet">
      {clock(receipt.time)}: {came} after {duration(outcome?.latency_ms)}
      {receipt.decision_ns !== null && `; decided in ${receipt.decision_ns} ns`}
    </p>
  );
}
