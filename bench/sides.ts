import { existsSync } from "node:fs";
import { join } from "node:path";
import {
  type Bundle,
  bundleWorker,
  type PlainWorkerd,
  type Service,
  startWorkerd,
} from "./plain-workerd.ts";
import type { Metered } from "./meter.ts";
import { type Begin, type Talk, talkOver, talkToOurs } from "./talk.ts";
import { talkToAgent } from "./talk-socket.ts";

/** The measured sides: Byref, objects that need no other packages, and the peers. */
export const sides = {
  ours: { begin: talkToOurs, peer: false },
  bare: { begin: talkOver("bare"), peer: false },
  kept: { begin: talkOver("kept"), peer: false },
  "ai-chat": { begin: talkToAgent("chat"), peer: true },
  "ai-chat, pruned": { begin: talkToAgent("pruned-chat"), peer: true },
  think: { begin: talkToAgent("thinker"), peer: true },
  "think, short": { begin: talkToAgent("short-thinker"), peer: true },
} satisfies Record<string, { readonly begin: Begin; readonly peer: boolean }>;

export type Side = keyof typeof sides;

/** `--peers`: also measures the peers, which must be installed. */
export const withPeers = process.argv.includes("--peers");
/** `--quick`: few samples, to see that everything works. */
export const isQuick = process.argv.includes("--quick");

/** The sides that this run includes. */
export function present(wanted: readonly Side[]): readonly Side[] {
  return wanted.filter((side) => withPeers || !sides[side].peer);
}

/** Classes of `worker.toml`. */
export const classes = {
  CONVERSATIONS: "Conversation",
  BARE: "Bare",
  KEPT: "Kept",
};

let ours: Bundle | undefined;
let peers: Bundle | undefined;

function bundleOf(side: Side): Bundle {
  if (!sides[side].peer) {
    return (ours ??= bundleWorker("worker.toml", classes));
  }
  if (!existsSync(join(import.meta.dirname, "peers/node_modules"))) {
    throw new Error("The peers are not installed: npm run bench:peers does that.");
  }
  const names = ["Chat", "PrunedChat", "Thinker", "ShortThinker"];
  return (peers ??= bundleWorker(
    "peers/worker.toml",
    Object.fromEntries(names.map((name) => [name, name])),
  ));
}

export interface Contest {
  readonly server: PlainWorkerd<string>;
  /** Begins a conversation with this name. */
  talk(side: Side, name: string): Talk;
  stop(): void;
}

/** Starts an isolate for each side, in one process; all have the same settings. */
export async function startContest(
  wanted: readonly Side[],
  settings: Service["settings"] = {},
): Promise<Contest> {
  const services = wanted.map((side): [string, Service] => [
    folderOf(side),
    { bundle: bundleOf(side), settings },
  ]);
  const server = await startWorkerd(Object.fromEntries(services));
  return {
    server,
    talk: (side, name) => sides[side].begin(urlOf(server, side), name),
    stop: () => server.stop(),
  };
}

export function urlOf(server: PlainWorkerd<string>, side: Side): string {
  return server.urls[folderOf(side)] ?? "";
}

/** What was counted since the last request. */
export async function meterOf({ server }: Contest, side: Side): Promise<Metered> {
  const response = await fetch(`${urlOf(server, side)}/bench/meter`);
  return (await response.json()) as Metered;
}

function folderOf(side: Side): string {
  return side.replaceAll(/\W+/g, "-");
}
