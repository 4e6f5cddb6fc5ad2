import { open, Refused } from "./call";

/** Between two attempts to reach the gateway, in milliseconds. */
const AGAIN_MS = 1_000;

/**
 * Server-sent events, read until `signal` says that they are no longer wanted; what breaks off is opened again
 * where it ended. Not by `EventSource`, which cannot send a token.
 */
export async function follow<T>(
  path: string,
  signal: AbortSignal,
  take: (event: T) => void,
  isUp: (up: boolean) => void,
): Promise<void> {
  let last = "";
  while (!signal.aborted) {
    try {
      const headers: Record<string, string> = last ? { "last-event-id": last } : {};
      const response = await open("GET", path, undefined, { signal, headers });
      isUp(true);
      await read(response, (id, data) => {
        last = id || last;
        take(JSON.parse(data) as T);
      });
    } catch (error) {
      if (signal.aborted) return;
      // Whoever lacks a token is asked for one, and the streams begin anew.
      if (error instanceof Refused && error.status === 401) return;
    }
    if (signal.aborted) return;
    isUp(false);
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

async function read(response: Response, take: (id: string, data: string) => void): Promise<void> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const lines = text.slice(0, end).split("\n");
      text = text.slice(end + 2);
      const field = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      const data = field("data");
      if (data) take(field("id") ?? "", data);
    }
  }
}
