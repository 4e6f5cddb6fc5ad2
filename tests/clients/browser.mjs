// A browser against the gateway: Chromium without a window, steered by playwright-core. Over TLS it speaks
// HTTP/2; its WebSocket may come on a stream of it (RFC 8441) or on a connection of its own, as it likes.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { X509Certificate, createHash } from "node:crypto";
import { createRequire } from "node:module";

const [url, packages, program, log] = process.argv.slice(2);
const isSecure = url.startsWith("https:");
const { chromium } = createRequire(`${packages}/`)("playwright-core");

// Runs in the page.
async function inPage() {
  const body = crypto.getRandomValues(new Uint8Array(60_000));
  const hex = (bytes) => [...new Uint8Array(bytes)].map((b) => b.toString(16).padStart(2, "0")).join("");
  const json = async (path, options) => (await fetch(path, options)).json();
  const post = await json("/post", { method: "POST", body });
  const many = await Promise.all(Array.from({ length: 60 }, (_, n) => json(`/many/${n}`)));
  const sticky = [];
  for (let n = 0; n < 8; n++) sticky.push((await json("/sticky")).endpoint);
  const socket = await new Promise((resolve, reject) => {
    const socket = new WebSocket(`${location.origin.replace("http", "ws")}/socket`);
    const large = new Uint8Array(9 << 20);
    for (let at = 0; at < large.length; at += 65_536) crypto.getRandomValues(large.subarray(at, at + 65_536));
    const answers = [];
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      socket.send("over the gateway");
      socket.send(large);
    };
    socket.onmessage = ({ data }) => {
      answers.push(data);
      if (answers.length < 2) return;
      const back = new Uint8Array(answers[1]);
      const same = back.length === large.length && back.every((byte, place) => byte === large[place]);
      socket.onclose = ({ wasClean }) => resolve({ text: answers[0], same, wasClean });
      socket.close();
    };
    socket.onerror = () => reject(new Error("the WebSocket failed"));
  });
  const events = await new Promise((resolve, reject) => {
    const source = new EventSource("/events");
    const times = [];
    source.onmessage = () => {
      times.push(performance.now());
      if (times.length === 5) {
        source.close();
        resolve(times[4] - times[0]);
      }
    };
    source.onerror = () => reject(new Error("the events failed"));
  });
  await json("/cookie");
  return {
    sent: hex(await crypto.subtle.digest("SHA-256", body)), post, socket, events, sticky,
    many: many.map((answer) => answer.path),
    moved: (await json("/moved")).path,
    head: (await fetch("/large", { method: "HEAD" })).headers.get("content-length"),
    large: (await (await fetch("/large")).arrayBuffer()).byteLength,
    protocol: performance.getEntriesByType("navigation")[0].nextHopProtocol,
    cookies: document.cookie, came: (await json("/cookie")).came,
  };
}

// Nobody signed the certificate: it is trusted by its key.
const { publicKey } = new X509Certificate(readFileSync(`${packages}/cert.pem`));
const key = createHash("sha256").update(publicKey.export({ type: "spki", format: "der" })).digest("base64");
const browser = await chromium.launch({
  executablePath: program,
  args: ["--no-sandbox", "--no-proxy-server", "--disable-dev-shm-usage",
    `--ignore-certificate-errors-spki-list=${key}`],
});
try {
  const page = await browser.newPage();
  page.setDefaultTimeout(120_000);
  assert.equal((await page.goto(`${url}/page`)).status(), 200);
  const seen = await page.evaluate(inPage);
  assert.equal(seen.post.sha256, seen.sent);
  assert.ok(seen.post.fields["user-agent"].includes("HeadlessChrome"));
  assert.deepEqual(seen.many, Array.from({ length: 60 }, (_, n) => `/many/${n}`));
  assert.equal(new Set(seen.sticky).size, 1, "affinity by cookie");
  assert.deepEqual(seen.socket, { text: "over the gateway", same: true, wasClean: true });
  assert.equal(seen.protocol, isSecure ? "h2" : "http/1.1");
  assert.ok(seen.events > 100, `events came within ${seen.events} ms`);
  assert.equal(seen.moved, "/echo?moved");
  assert.deepEqual([Number(seen.head), seen.large], [32 << 20, 32 << 20]);
  for (const cookie of ["first=1", "second=2"]) {
    assert.ok(seen.cookies.includes(cookie) && seen.came.includes(cookie), seen.came);
  }
  // What the gateway says of the WebSocket; its line comes with its end.
  const listener = isSecure ? "tls" : "plain";
  const isSocket = (line) => line.path === "/socket" && line.client && line.listener === listener;
  const lines = () => readFileSync(log, "utf8").split("\n").filter(Boolean).map(JSON.parse).filter(isSocket);
  const end = Date.now() + 60_000;
  while (!lines().length && Date.now() < end) await new Promise((resolve) => setTimeout(resolve, 100));
  const line = lines().at(-1);
  assert.ok(line, "the WebSocket has its line");
  assert.ok(line.bytes_in > 9 << 20 && line.bytes_out > 9 << 20, JSON.stringify(line));
  console.log(`browser: ok (Chromium ${browser.version()}, ${seen.protocol}, WebSocket by ${line.protocol})`);
} finally {
  await browser.close();
}
