// The page becomes four files with fixed names, so that the bundle can be compared with a new one, byte by byte.
import { readFileSync } from "node:fs";
import { defineConfig } from "vite";

const licences = {
  name: "licences",
  generateBundle() {
    const text = readFileSync(new URL("node_modules/preact/LICENSE", import.meta.url), "utf8");
    this.emitFile({ type: "asset", fileName: "LICENCES.txt", source: `page.js contains Preact.\n\n${text}` });
  },
};

export default defineConfig({
  base: "/static/",
  plugins: [licences],
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  build: {
    outDir: "../src/kabc/server/static",
    emptyOutDir: true,
    modulePreload: { polyfill: false },
    rollupOptions: {
      input: { page: "index.html", stream: "src/stream.ts" },
      output: { entryFileNames: "[name].js", chunkFileNames: "[name].js", assetFileNames: "[name][extname]" },
    },
  },
});
