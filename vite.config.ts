import { defineConfig } from "vite";

/** The page: `src/web` -> `dist/web`, which the Worker serves as static assets. */
export default defineConfig({
  root: "src/web",
  publicDir: "public",
  build: {
    outDir: "../../dist/web",
    emptyOutDir: true,
    target: "es2022",
    // What is loaded lazily is small, and on the same connection.
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
