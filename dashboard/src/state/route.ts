import { signal } from "@preact/signals";

/** What the address says: `#/CLUSTER`, `#/CLUSTER/endpoint/ID` or `#/CLUSTER/request/ID`. */
export interface Route {
  cluster: string;
  endpoint: string;
  request: string;
}

export const route = signal(read());

window.addEventListener("hashchange", () => {
  route.value = read();
});

export function linkTo(cluster: string, kind?: "endpoint" | "request", id?: string): string {
  const parts = kind && id !== undefined ? [cluster, kind, id] : [cluster];
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}

export function go(cluster: string, kind?: "endpoint" | "request", id?: string): void {
  location.hash = linkTo(cluster, kind, id);
}

function read(): Route {
  const [cluster = "", kind = "", id = ""] = location.hash.slice(2).split("/").map(decoded);
  return { cluster, endpoint: kind === "endpoint" ? id : "", request: kind === "request" ? id : "" };
}

/** What somebody typed may hold half an escape. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
