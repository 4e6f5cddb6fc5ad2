import { useSignal } from "@preact/signals";
import { call, inCluster } from "../api/call";
import type { Receipt } from "../api/types";
import { clusterName } from "../state/live";
import { ReceiptPicture } from "./ReceiptPicture";

/** Asks where a request would go now. Nothing is sent, and nothing changes. */
export function Explain({ of }: { of: string }) {
  const key = useSignal("");
  const answer = useSignal<Receipt | null>(null);
  const refused = useSignal("");
  const ask = async (event: Event) => {
    event.preventDefault();
    const query = key.value ? `?${new URLSearchParams({ key: key.value })}` : "";
    try {
      answer.value = await call<Receipt>("GET", `${inCluster(clusterName.value, "explain")}${query}`);
      refused.value = "";
    } catch (error) {
      refused.value = (error as Error).message;
    }
  };
  return (
    <div class="explain">
      <form onSubmit={ask}>
        <input
          placeholder="key (optional)"
          aria-label="The key of the request"
          value={key.value}
          onInput={(event) => (key.value = event.currentTarget.value)}
        />
        <button type="submit">Where would it go now?</button>
        {answer.value && (
          <button type="button" class="plain" onClick={() => (answer.value = null)}>
            hide
          </button>
        )}
      </form>
      {refused.value && <p class="bad">{refused.value}</p>}
      {answer.value && <ReceiptPicture receipt={answer.value} of={of} />}
    </div>
  );
}
