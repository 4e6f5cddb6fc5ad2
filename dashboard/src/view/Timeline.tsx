import { useSignal } from "@preact/signals";
import { eventsHere } from "../state/events";
import { EventList } from "./EventList";

const SHOWN = 200;

/** What happened to the cluster: health, ejections, membership, reloads, what operators did. */
export function Timeline() {
  const wanted = useSignal("");
  const word = wanted.value.toLowerCase();
  const found = eventsHere.value.filter((one) => !word || JSON.stringify(one).toLowerCase().includes(word));
  return (
    <section aria-label="Timeline" class="panel">
      <div class="bar-above">
        <h2>What happened</h2>
        <input
          type="search"
          placeholder="Filter"
          aria-label="Filter what happened"
          value={wanted.value}
          onInput={(event) => (wanted.value = event.currentTarget.value)}
        />
      </div>
      {/* It scrolls, so that it can be reached by the keyboard. */}
      <div class="scrolls" tabIndex={0} role="region" aria-label="Events">
        <EventList events={found.slice(0, SHOWN)} />
      </div>
    </section>
  );
}
