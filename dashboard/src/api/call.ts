import { token, tokenIsWanted } from "../state/token";

const BASE = "/api/v1";

/** What the gateway refused, in its own words. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    detail: string,
  ) {
    super(detail);
  }
}

export type Method = "GET" | "POST" | "PATCH" | "PUT" | "DELETE";

/** A call of the admin API whose answer has come, a good one. */
export async function open(method: Method, path: string, body?: unknown, more: RequestInit = {}): Promise<Response> {
  const headers = new Headers(more.headers);
  if (token.value) headers.set("authorization", `Bearer ${token.value}`);
  if (body !== undefined) headers.set("content-type", "application/json");
  const init: RequestInit = { ...more, method, headers };
  if (body !== undefined) init.body = JSON.stringify(body);
  const response = await fetch(BASE + path, init);
  if (response.ok) return response;
  tokenIsWanted.value ||= response.status === 401;
  throw new Refused(response.status, await detail(response));
}

/** The same, for an answer that is JSON, or nothing. */
export async function call<T>(method: Method, path: string, body?: unknown): Promise<T> {
  const response = await open(method, path, body);
  return (response.status === 204 ? undefined : await response.json()) as T;
}

/** The path of a cluster, or of what is in it. */
export function inCluster(cluster: string, ...rest: string[]): string {
  return ["/clusters", ...[cluster, ...rest].map(encodeURIComponent)].join("/");
}

async function detail(response: Response): Promise<string> {
  try {
    return ((await response.json()) as { detail: string }).detail;
  } catch {
    return `the gateway answered ${response.status}`;
  }
}
