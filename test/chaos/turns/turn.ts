import type { UIMessage } from "ai";
import type { Script } from "./script.ts";

/** What the test knows about a turn. */
export interface Turn {
  readonly conversation: string;
  readonly script: Script;
  /** True once a client has received a frame of it. */
  isAcknowledged: boolean;
  /** Number of kills from its post until it was settled. */
  kills: number;
  /** Parts that clients were shown and that must stay. */
  readonly promises: Promised[];
  isStopAsked: boolean;
  /** When a client's stop was acknowledged. */
  stoppedMs: number | undefined;
  /** Set when the turn is settled. */
  outcome: "finished" | "stopped" | "closed" | "none";
  /** Messages of streams that ended with `finish` and waited for no approval. */
  readonly answers: Answer[];
  isOver: boolean;
  /** Explains what happened if the turn fails. */
  readonly log: string[];
}

interface Promised {
  readonly parts: UIMessage["parts"];
  /** Tool outputs by call id, including those of unfinished steps. */
  readonly outputs: ReadonlyMap<string, string>;
}

interface Answer {
  readonly who: string;
  readonly message: UIMessage | undefined;
}

export function newTurn(conversation: string, script: Script): Turn {
  return {
    conversation,
    script,
    isAcknowledged: false,
    kills: 0,
    promises: [],
    isStopAsked: false,
    stoppedMs: undefined,
    outcome: "none",
    answers: [],
    isOver: false,
    log: [],
  };
}

export function noteIn(turn: Turn, what: string): void {
  turn.log.push(`${performance.now().toFixed(0)} ${what}`);
}
