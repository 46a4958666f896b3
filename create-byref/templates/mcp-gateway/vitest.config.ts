import { cloudflareTest } from "@cloudflare/vitest-pool-workers";
import { defineConfig } from "vitest/config";

const worker = { wrangler: { configPath: "./wrangler.toml" }, remoteBindings: false };
export default defineConfig({ plugins: [cloudflareTest(worker)] });
