import type { Candidate, Receipt } from "../api/types";
import { score, word } from "../format";

/** What a receipt comes to, in a sentence or two. */
export function verdict(receipt: Receipt): string {
  const { chosen } = receipt;
  if (chosen === null) return `Nobody could be chosen: ${word(receipt.nobody ?? "no reason was noted")}.`;
  return [reason(receipt, chosen), runnerUp(receipt), unusual(receipt)].filter(Boolean).join(" ");
}

function reason(receipt: Receipt, chosen: string): string {
  if (receipt.affinity === chosen) return `${chosen} was chosen since its client was with it before.`;
  if (receipt.key_hash !== null) return `${chosen} was chosen since the request's key leads to it.`;
  if (receipt.cursor !== null) return `${chosen} was chosen since it was its turn: place ${receipt.cursor} of the schedule.`;
  const compared = comparedOf(receipt);
  const scored = compared.filter((one) => one.score !== null);
  if (scored.length > 1) {
    const drawn = scored.filter((one) => one.score === scored.find((other) => other.id === chosen)?.score);
    const tie = drawn.length > 1 ? `, as had ${drawn.length - 1} more: the draw decided` : "";
    return `${chosen} was chosen since it had the lowest score of the ${scored.length} that were compared${tie}.`;
  }
  if (compared.length === 1) return `${chosen} was the only one to choose from.`;
  return `${chosen} was drawn.`;
}

function runnerUp(receipt: Receipt): string {
  if (receipt.runner_up === null) return "";
  const margin = receipt.margin ? `, by ${score(receipt.margin)}` : "";
  return `${receipt.runner_up} came next${margin}.`;
}

function unusual(receipt: Receipt): string {
  return receipt.fallback === null ? "" : `It was no ordinary choice: ${word(receipt.fallback)}.`;
}

/** A dry run tells of all endpoints, a receipt of those that were compared. */
export function comparedOf(receipt: Receipt): Candidate[] {
  return receipt.candidates.filter((one) => one.compared !== false);
}

const EXCLUDED: Record<string, string> = {
  full: "has all the requests it may have",
  saturated: "is left alone while others are less busy",
  not_in_service: "takes no requests",
  tried: "was tried by this request before",
  draining: "drains",
  disabled: "is disabled",
  unhealthy: "is unhealthy",
  ejected: "is ejected for what its requests came to",
  spare: "is spare: its tier or zone takes nothing while others can",
  outside_subset: "is not among the endpoints that this gateway uses",
};

/** Why somebody was not to be chosen. */
export function excludedWords(reason: string): string {
  return EXCLUDED[reason] ?? word(reason);
}
