import { type Answer, ask } from "./ask.ts";
import type { Load } from "./load.ts";

/** A conversation, as a client of that side uses it. */
export interface Talk {
  ask(load: Load): Promise<Answer>;
  close(): void;
}

/** Begins a conversation with this name with the Worker at this URL. */
export type Begin = (url: string, name: string) => Talk;

export const talkToOurs: Begin = (url, name) => ({
  ask: (load) => {
    const agent = load.tool === undefined ? "bench" : "shop";
    return ask(`${url}/conversations/${name}/messages`, load, { agent });
  },
  close: () => undefined,
});

/** Talks to an object that answers a POST. */
export function talkOver(kind: string): Begin {
  return (url, name) => ({
    ask: (load) => ask(`${url}/${kind}/${name}`, load),
    close: () => undefined,
  });
}
