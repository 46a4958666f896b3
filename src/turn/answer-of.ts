import type { UIMessageChunk } from "ai";
import type { Lookup } from "../reference/reference.ts";
import type { VariableStore } from "../store/variable-store.ts";
import { lookupFor, storeFor } from "../tool/store-for.ts";
import type { RunScope } from "../tool/wrapped-tool.ts";
import type { Agent } from "./agent.ts";
import { Answer } from "./answer.ts";
import type { TurnState } from "./log/turn-state.ts";

/** Who answers, and with which variables. */
export interface Speaker {
  readonly agent: Agent;
  readonly store: VariableStore;
  readonly state: TurnState;
  readonly emit: (chunk: UIMessageChunk) => void;
  /** The run whose names the answer uses; without: the conversation's. */
  readonly scope?: RunScope | undefined;
  /** Told of each variable that the answer refers to. */
  readonly onUsed?: (name: string) => void;
}

/** Where an answer's references are looked up. What it refers to is held until its turn ends. */
export function lookupOf({ store, state, scope, onUsed }: Omit<Speaker, "agent" | "emit">): Lookup {
  return lookupFor(scope, store, {
    onUsed: (name) => {
      store.holds.hold(state.id, name);
      onUsed?.(name);
    },
  });
}

/** The answer of an agent, on its way out. */
export function answerOf(speaker: Speaker): Answer {
  const { agent, state, emit } = speaker;
  const store = storeFor(speaker.scope, speaker.store);
  const { syntaxes, inCode, inUrls } = agent.references ?? {};
  return new Answer(lookupOf(speaker), {
    ...(syntaxes === undefined ? {} : { syntaxes }),
    ...(inCode === undefined ? {} : { inCode }),
    ...(inUrls === undefined ? {} : { inUrls }),
    emit,
    couldBegin: (prefix) => store.couldBegin(prefix),
    isKnown: (name) => store.glance(name) !== undefined || store.tombstone(name) !== undefined,
    onShown: (id, text) => state.parts.show(id, text),
    onResolved: (source, text) =>
      state.account.savings.addReferences({
        authoredChars: source.length,
        resolvedChars: text.length,
      }),
  });
}
