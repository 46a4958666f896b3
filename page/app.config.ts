import { defineConfig } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

/** Builds the view of a variable for MCP clients, one file, into `dist/web-app`. */
export default defineConfig({
  plugins: [viteSingleFile()],
  // Preact is a third of React's size, and has everything that the components use.
  resolve: {
    alias: [
      { find: /^react\/jsx-runtime$/, replacement: "preact/jsx-runtime" },
      { find: /^react-dom\/client$/, replacement: "preact/compat/client" },
      { find: /^react(-dom)?$/, replacement: "preact/compat" },
    ],
  },
  publicDir: false,
  build: {
    outDir: "../dist/web-app",
    emptyOutDir: true,
    target: "es2022",
    reportCompressedSize: false,
    rolldownOptions: { input: ["variable.html"] },
  },
});
