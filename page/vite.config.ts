import { join } from "node:path";
import { defineConfig, type Plugin } from "vite";
import { apiPage } from "./api-page.ts";

const JSON_SCHEMAS = /\/(?:to-json-schema|json-schema-processors|json-schema-generator)\.js$/;

/** See `no-json-schemas.ts`. */
const withoutJsonSchemas: Plugin = {
  name: "without-json-schemas",
  enforce: "pre",
  resolveId(source, importer) {
    const isZod = importer?.includes("/node_modules/zod/") === true && JSON_SCHEMAS.test(source);
    return isZod ? join(import.meta.dirname, "no-json-schemas.ts") : null;
  },
};

/** Builds the page into `dist/web`, which the Worker serves as static assets. */
export default defineConfig({
  plugins: [withoutJsonSchemas, apiPage()],
  build: {
    outDir: "../dist/web",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: { input: ["index.html", "docs/index.html"] },
  },
});
