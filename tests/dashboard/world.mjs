// What the tests stand on: endpoints that count, a gateway in a process of its own, requests to it.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, request } from "node:http";
import { createInterface } from "node:readline";

/** How long something may take to come about, in milliseconds. */
export const PATIENCE = 60_000;

/** An endpoint that says its name and notes which requests it got. */
export async function endpoint(name) {
  const got = [];
  const server = createServer((incoming, answer) => {
    got.push(incoming.headers["x-request-id"]);
    answer.end(name);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { name, got, address: `127.0.0.1:${server.address().port}`, server };
}

/** A gateway, with the addresses that it prints. */
export async function gateway(binary, config) {
  const child = spawn(binary, ["serve", config], { stdio: ["ignore", "pipe", "inherit"] });
  const found = {};
  for await (const line of createInterface({ input: child.stdout })) {
    found.traffic ??= /^listening on (\S+)/.exec(line)?.[1];
    found.admin ??= /^admin on (\S+)/.exec(line)?.[1];
    if (found.traffic && found.admin) break;
  }
  if (!found.admin) throw new Error("the gateway did not start");
  return { ...found, child, end: () => child.kill("SIGKILL") };
}

/** Requests, a few at a time, until it is told to end. */
export function load(address) {
  let goes = true;
  const one = async (id) => {
    await ask(address, id).catch(() => undefined);
    if (goes) setTimeout(() => void one(), 10);
  };
  for (let n = 0; n < 4; n++) void one();
  return () => (goes = false);
}

/** One request; the name of the endpoint that answered. */
export function ask(address, id) {
  const [host, port] = address.split(":");
  const headers = id ? { "x-request-id": id } : {};
  return new Promise((resolve, reject) => {
    const asked = request({ host, port, path: "/", headers }, (answer) => {
      let text = "";
      answer.on("data", (part) => (text += part)).on("end", () => resolve(text));
    });
    asked.on("error", reject).end();
  });
}

/** Waits until something is so. */
export async function until(what, condition) {
  const end = Date.now() + PATIENCE;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`never came about: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
