import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";

const OUT = "dist/page";

/** Packs each file beside itself: the admin server sends the packed one to whoever takes it. */
function packed(): Plugin {
  return {
    name: "packed",
    apply: "build",
    closeBundle() {
      const assets = readdirSync(`${OUT}/assets`).map((name) => `${OUT}/assets/${name}`);
      for (const path of [`${OUT}/index.html`, ...assets]) {
        writeFileSync(`${path}.gz`, gzipSync(readFileSync(path), { level: 9 }));
      }
    },
  };
}

export default defineConfig({
  plugins: [packed()],
  build: {
    outDir: OUT,
    emptyOutDir: true,
    // What is inlined would be a `data:` address, which the policy refuses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  // For work on the page: `npm run dev` beside a gateway on the usual port.
  server: { proxy: { "/api": "http://127.0.0.1:9900" } },
});
