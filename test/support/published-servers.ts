import { execFileSync } from "node:child_process";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { EVERYTHING, FILESYSTEM, MEMORY } from "./gateway-process.ts";

/** Servers from npm that start without a network, with their arguments. */
const PUBLISHED: Readonly<Record<string, readonly string[]>> = {
  airtable: ["airtable-mcp-server"],
  brave: ["mcp-server-brave-search"],
  brave_2: ["brave-search-mcp-server"],
  chart: ["mcp-server-chart"],
  chrome: ["chrome-devtools-mcp"],
  context7: ["context7-mcp"],
  duckduckgo: ["duckduckgo-mcp-server"],
  everart: ["mcp-server-everart"],
  figma: ["figma-developer-mcp", "--stdio"],
  firecrawl: ["firecrawl-mcp"],
  github: ["mcp-server-github"],
  gitlab: ["mcp-server-gitlab"],
  maps: ["mcp-server-google-maps"],
  notion: ["notion-mcp-server"],
  postgres: ["mcp-server-postgres", "postgresql://127.0.0.1:1/none"],
  searxng: ["mcp-searxng"],
  slack: ["mcp-server-slack"],
  tavily: ["tavily-mcp"],
  thinking: ["mcp-server-sequential-thinking"],
};

/** They start with any key, and are asked for lists only. */
const KEYS = [
  ["AIRTABLE_API_KEY", "BRAVE_API_KEY", "EVERART_API_KEY", "FIGMA_API_KEY", "FIRECRAWL_API_KEY"],
  ["GITLAB_PERSONAL_ACCESS_TOKEN", "GOOGLE_MAPS_API_KEY", "NOTION_TOKEN", "SLACK_BOT_TOKEN"],
  ["SLACK_TEAM_ID", "TAVILY_API_KEY"],
]
  .flat()
  .map((name) => `${name}=none`);

/** Returns the commands of those that this project installs, by name, and of every `step`th other one. */
export function publishedServers(
  folder: string,
  step: number,
): Readonly<Record<string, readonly string[]>> {
  const bin = join(folder, "servers/node_modules/.bin");
  const others = Object.entries(PUBLISHED).filter((_, index) => (index + 1) % step === 0);
  return {
    everything: EVERYTHING,
    filesystem: [...FILESYSTEM, folder],
    memory: MEMORY,
    ...Object.fromEntries(
      others.map(([name, [program = "", ...args]]) => [
        name,
        ["env", ...KEYS, "SEARXNG_URL=http://127.0.0.1:1", join(bin, program), ...args],
      ]),
    ),
  };
}

/** Installs the others by their lock, with the environment of this process, which may name a registry. */
export function installPublished(folder: string): void {
  const own = join(import.meta.dirname, "../process/mcp-servers");
  cpSync(own, join(folder, "servers"), { recursive: true });
  execFileSync("npm", ["ci", "--ignore-scripts"], { cwd: join(folder, "servers"), stdio: "pipe" });
}
