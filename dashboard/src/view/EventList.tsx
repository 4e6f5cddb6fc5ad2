import type { GatewayEvent } from "../api/types";
import { clock, word } from "../format";

/** Events that need a look, those that are good news, and the rest. */
function kindOf(event: GatewayEvent): [string, string] {
  if (event.to === "unhealthy" || event.to === "ejected" || event.event === "panic" || event.event === "ejection") return ["▲", "bad"];
  if (event.to === "healthy") return ["●", "good"];
  return ["◆", "quiet"];
}

/** What happened, the newest first, with cause and evidence. */
export function EventList({ events }: { events: GatewayEvent[] }) {
  if (events.length === 0) return <p class="nothing">Nothing happened yet.</p>;
  return (
    <ol class="list">
      {events.map((event) => (
        <Event key={event.number} event={event} />
      ))}
    </ol>
  );
}

/** From what to what; the name of the event says the latter for some. */
function changeOf({ event, from, to }: GatewayEvent): string {
  if (!to) return "";
  if (to === event) return from ? `, before ${from}` : "";
  return from ? `${from} → ${to}` : to;
}

function Event({ event }: { event: GatewayEvent }) {
  const [mark, kind] = kindOf(event);
  const change = changeOf(event);
  return (
    <li>
      <time dateTime={event.time}>{clock(event.time)}</time>
      <span class={kind} aria-hidden="true">
        {mark}
      </span>
      <span class="what">
        {event.endpoint && <strong>{event.endpoint} </strong>}
        {event.event === "operator" ? "changed by an operator" : word(event.event)}
        {change && (change.startsWith(",") ? change : ` ${change}`)}
        {event.cause && <span class="quiet">: {word(event.cause)}</span>}
        {event.evidence && <span class="evidence">{event.evidence}</span>}
        {event.until && <span class="quiet"> until {clock(event.until)}</span>}
      </span>
    </li>
  );
}
