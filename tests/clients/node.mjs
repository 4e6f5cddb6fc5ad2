// Node's clients against the gateway: http, fetch, and undici with its WebSocket and EventSource.

import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import http from "node:http";
import { createRequire } from "node:module";

const require = createRequire(`${process.argv[3]}/`);
const undici = require("undici");
const URL_ = process.argv[2];
const BODY = randomBytes(2_000_000);
const HASH = createHash("sha256").update(BODY).digest("hex");
const LARGE = 32 << 20;

function ask(agent, method, path, body) {
  return new Promise((resolve, reject) => {
    const request = http.request(`${URL_}${path}`, { method, agent }, async (answer) => {
      try {
        const parts = await answer.toArray();
        const { statusCode, headers } = answer;
        resolve({ statusCode, headers, body: Buffer.concat(parts), reused: request.reusedSocket });
      } catch (error) {
        reject(error);
      }
    });
    request.on("error", reject);
    // Without end(body) Node sends chunks.
    if (body) request.write(body);
    request.end();
  });
}

async function withHttp() {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  await ask(agent, "GET", "/first");
  const post = await ask(agent, "POST", "/post", BODY);
  const seen = JSON.parse(post.body);
  assert.deepEqual([seen.sha256, seen.chunked, post.reused], [HASH, true, true]);
  const head = await ask(agent, "HEAD", "/large");
  assert.deepEqual([head.statusCode, Number(head.headers["content-length"]), head.body.length],
    [200, LARGE, 0]);
  const cookies = (await ask(agent, "GET", "/cookie")).headers["set-cookie"];
  assert.equal(cookies.length, 2, "cookies are not merged");
  assert.equal((await ask(agent, "GET", "/large")).body.length, LARGE);
  agent.destroy();
}

async function withFetch(fetch) {
  const post = await (await fetch(`${URL_}/post`, { method: "POST", body: BODY })).json();
  assert.equal(post.sha256, HASH);
  const stream = new Blob([BODY]).stream();
  const put = await fetch(`${URL_}/put`, { method: "PUT", body: stream, duplex: "half" });
  const seen = await put.json();
  assert.deepEqual([seen.sha256, seen.chunked], [HASH, true]);
  assert.equal((await (await fetch(`${URL_}/moved`)).json()).path, "/echo?moved");
  assert.equal((await fetch(`${URL_}/secure`, { redirect: "manual" })).status, 308);
  assert.equal((await (await fetch(`${URL_}/large`)).arrayBuffer()).byteLength, LARGE);
  const aborted = fetch(`${URL_}/events`, { signal: AbortSignal.timeout(100) })
    .then((answer) => answer.text());
  await assert.rejects(aborted);
  const many = await Promise.all(Array.from({ length: 200 }, (_, number) =>
    fetch(`${URL_}/many/${number}`).then((answer) => answer.json())));
  assert.ok(many.every((answer, number) => answer.path === `/many/${number}`));
}

async function withUndici() {
  const client = new undici.Client(URL_, { pipelining: 4 });
  const answers = await Promise.all(Array.from({ length: 40 }, (_, number) =>
    client.request({ method: "GET", path: `/pipelined/${number}` })
      .then((answer) => answer.body.json())));
  assert.ok(answers.every((answer, number) => answer.path === `/pipelined/${number}`));
  await client.close();
}

function withWebSocket() {
  return new Promise((resolve, reject) => {
    const socket = new undici.WebSocket(`${URL_.replace("http", "ws")}/socket`);
    const sent = ["text", "x".repeat(100_000)];
    socket.onopen = () => sent.forEach((message) => socket.send(message));
    socket.onerror = reject;
    socket.onmessage = ({ data }) => {
      assert.equal(data, sent.shift());
      if (sent.length === 0) socket.close(1000);
    };
    socket.onclose = ({ code }) => (code === 1000 ? resolve() : reject(new Error(`ended by ${code}`)));
  });
}

function withEventSource() {
  return new Promise((resolve, reject) => {
    const source = new undici.EventSource(`${URL_}/events`);
    const times = [];
    source.onmessage = ({ data }) => {
      assert.equal(data, `event ${times.length}`);
      times.push(performance.now());
      if (times.length < 5) return;
      source.close();
      times[4] - times[0] > 300 ? resolve() : reject(new Error(`all at once: ${times}`));
    };
  });
}

await withHttp();
await withFetch(globalThis.fetch);
await withFetch(undici.fetch);
await withUndici();
await withWebSocket();
await withEventSource();
const { version } = require("undici/package.json");
console.log(`node: ok (http and fetch ${process.version}, undici ${version})`);
process.exit(0);
