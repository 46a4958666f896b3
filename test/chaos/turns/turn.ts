import type { UIMessage } from "ai";
import type { Script } from "./script.ts";

/** What the test knows of one turn. */
export interface Turn {
  readonly conversation: string;
  readonly script: Script;
  /** Somebody saw a frame of it. */
  isAcknowledged: boolean;
  /** Kills from its post until it was settled. */
  kills: number;
  /** Parts that clients were shown and that must stay. */
  readonly promises: Promised[];
  isStopAsked: boolean;
  /** When somebody's stop was acknowledged. */
  stoppedMs: number | undefined;
  /** How it came out, once it is settled. */
  outcome: "finished" | "stopped" | "closed" | "none";
  /** Of streams that ended with `finish` and did not wait for anybody. */
  readonly answers: Answer[];
  isOver: boolean;
  /** For whoever has to find out what went wrong. */
  readonly log: string[];
}

interface Promised {
  readonly parts: UIMessage["parts"];
  /** Outputs of tools that stand in steps which are not finished yet, by call. */
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
