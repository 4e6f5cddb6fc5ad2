import type { Candidate, Receipt } from "../api/types";
import { score } from "../format";
import { Draws } from "./Draws";
import { comparedOf, excludedWords, verdict } from "./verdict";

/** Of more candidates, the rest is counted. */
const SHOWN = 24;

/** A decision as a picture: who was compared by what, the draw, the winner, who was out and why. */
export function ReceiptPicture({ receipt, of }: { receipt: Receipt; of: string }) {
  const ranked = [...receipt.candidates].sort((a, b) => rank(receipt, of, a) - rank(receipt, of, b));
  const shown = ranked.slice(0, SHOWN);
  const most = Math.max(...shown.map((one) => one.score ?? 0), 1e-12);
  const excluded = [...receipt.excluded].sort((a, b) => Number(b.id === of) - Number(a.id === of));
  return (
    <div class="receipt">
      <p class="lead">{verdict(receipt)}</p>
      {of && <p>{about(receipt, of)}</p>}
      {shown.length > 0 && (
        <table>
          <caption class="unseen">Who was compared</caption>
          <thead>
            <tr>
              <th scope="col">candidate</th>
              <th scope="col" class="right">
                in flight
              </th>
              <th scope="col" class="right">
                weight
              </th>
              <th scope="col">score, the lowest wins</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((one) => (
              <Bar key={one.id} one={one} receipt={receipt} most={most} />
            ))}
          </tbody>
        </table>
      )}
      {ranked.length > SHOWN && <p class="quiet">and {ranked.length - SHOWN} more</p>}
      <Draws draws={receipt.draws} hash={receipt.key_hash} cursor={receipt.cursor} />
      {excluded.length > 0 && (
        <ul class="excluded">
          {excluded.slice(0, SHOWN).map((one) => (
            <li key={one.id}>
              <s>{one.id}</s> {excludedWords(one.reason)}
            </li>
          ))}
          {excluded.length > SHOWN && <li>and {excluded.length - SHOWN} more</li>}
        </ul>
      )}
      <p class="quiet">
        {receipt.strategy}, tier {receipt.tier}
        {receipt.dry_run && "; a dry run: nothing was sent, and chance has its own draw each time"}
      </p>
    </div>
  );
}

/** The winner first, then who came close; those that were not looked at last. */
function rank(receipt: Receipt, of: string, one: Candidate): number {
  if (one.id === receipt.chosen) return -3;
  if (one.id === of) return -2;
  if (one.id === receipt.runner_up) return -1;
  return (one.compared === false ? 1e15 : 0) + Math.min(one.score ?? 0, 1e14);
}

function about(receipt: Receipt, id: string): string {
  const out = receipt.excluded.find((one) => one.id === id);
  if (out) return `${id} cannot be chosen: it ${excludedWords(out.reason)}.`;
  if (receipt.chosen === id) return `${id} would get this one.`;
  const one = comparedOf(receipt).find((each) => each.id === id);
  return one ? `${id} was compared, and lost with ${score(one.score)}.` : `${id} may be chosen; this decision did not look at it.`;
}

function Bar({ one, receipt, most }: { one: Candidate; receipt: Receipt; most: number }) {
  const isWinner = one.id === receipt.chosen;
  const kind = isWinner ? "winner" : one.compared === false ? "unlooked" : "";
  const width = `${Math.max(1, ((one.score ?? 0) / most) * 100).toFixed(1)}%`;
  const parts = [
    one.factor !== 1 && `weight × ${score(one.factor)}`,
    one.penalty > 0 && `penalty ${score(one.penalty)}`,
    one.latency_ns && `latency ${score(one.latency_ns / 1e6)} ms`,
    one.hot && "hot",
    one.compared === false && "not looked at",
  ].filter(Boolean);
  return (
    <tr class={kind}>
      <th scope="row">
        <span aria-hidden="true">{isWinner ? "✓ " : ""}</span>
        {one.id}
        {isWinner && <span class="unseen"> (chosen)</span>}
      </th>
      <td class="right">{one.in_flight}</td>
      <td class="right">{one.weight}</td>
      <td>
        <span class="measure">
          <span class="track" aria-hidden="true">
            {one.score !== null && <span style={{ width }} />}
          </span>
          <span class="number">{score(one.score)}</span>
        </span>
        {parts.length > 0 && <span class="quiet">{parts.join(", ")}</span>}
      </td>
    </tr>
  );
}
