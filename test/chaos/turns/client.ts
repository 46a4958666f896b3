import { setTimeout as sleep } from "node:timers/promises";
import { isToolUIPart, type UIMessage } from "ai";
import type { Random } from "../random.ts";
import {
  finishedSteps,
  foldFrames,
  type Frame,
  type FrameBook,
  framesOf,
  isTerminal,
  typeOf,
} from "./frames.ts";
import type { Gate } from "./gate.ts";
import { questionOf, TOOLS } from "./script.ts";
import { noteIn, type Turn } from "./turn.ts";

interface ClientOptions {
  readonly gate: Gate;
  readonly turn: Turn;
  readonly random: Random;
  readonly book: FrameBook;
  readonly onWrong: (row: string, what: string) => void;
  readonly name: string;
}

/** How a connection ended. */
type Ending = "done" | "broken" | "left" | "refused" | "nothing";
/** How a client requests a stream. */
type Way = "post" | "after" | "plain" | "approve";

/** A client that asks a question or watches its answer, and reconnects when cut off. */
export class Client {
  readonly #options: ClientOptions;
  /** All frames received since the message began. */
  #frames: Frame[] = [];
  #isLeaving: boolean;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#isLeaving = options.random.chance(0.25);
  }

  /** Posts the turn's question and stays until it is answered. */
  async ask(): Promise<void> {
    const { turn, random } = this.#options;
    let way: Way = "post";
    while (!turn.isOver) {
      const ending = await this.#connect(way);
      if (ending === "done" || ending === "nothing") {
        const waits = await this.#waits(ending);
        if (!waits) break;
        way = "approve";
        continue;
      }
      if (ending === "refused") {
        await sleep(30);
        way = way === "post" ? "post" : "plain";
      } else if (this.#frames.length > 0) {
        // An approval that had no visible effect is sent again.
        if (way !== "approve" || this.#isHeard()) way = random.chance(0.6) ? "after" : "plain";
      } else if (!turn.isAcknowledged && !asksSomebody(turn) && random.chance(0.5)) break;
    }
    turn.isOver = true;
  }

  /** Connects to the stream now and then while the turn runs. */
  async watch(): Promise<void> {
    const { turn, random } = this.#options;
    await sleep(random.between(0, 400));
    while (!turn.isOver) {
      const way = this.#frames.length > 0 && random.chance(0.6) ? "after" : "plain";
      const ending = await this.#connect(way);
      if (ending === "done") return;
      if (ending !== "left") await sleep(random.between(20, 60));
    }
  }

  async #connect(way: Way): Promise<Ending> {
    const { gate, turn, name } = this.#options;
    const url = `${await gate.url()}/conversations/${turn.conversation}`;
    const after = this.#frames.findLast(({ id }) => id !== undefined)?.id ?? 0;
    try {
      const response = await this.#request(url, way, after);
      noteIn(turn, `${name} ${way}${way === "after" ? ` ${after}` : ""}: ${response.status}`);
      if (response.status === 204) return "nothing";
      if (response.status !== 200 || response.body === null) {
        noteIn(turn, `${name} is refused: ${await response.text()}`);
        return "refused";
      }
      if (way === "plain" || way === "post") this.#frames = [];
      return await this.#read(response.body, way === "after" ? after : 0);
    } catch (error) {
      noteIn(turn, `${name} ${way} breaks off: ${String(error)}`);
      await this.#promise();
      return "broken";
    }
  }

  async #request(url: string, way: Way, after: number): Promise<Response> {
    const { turn, random } = this.#options;
    if (way === "plain") return fetch(`${url}/stream`);
    if (way === "after") {
      return random.chance(0.5)
        ? fetch(`${url}/stream?after=${after}`)
        : fetch(`${url}/stream`, { headers: { "last-event-id": String(after) } });
    }
    if (way === "post") return post(`${url}/messages`, { message: questionOf(turn.script) });
    const approval = waitingIn((await foldFrames(this.#frames)).message);
    return post(`${url}/approvals/${approval ?? "none"}`, { approved: turn.script.approves });
  }

  async #read(body: ReadableStream<Uint8Array>, after: number): Promise<Ending> {
    const { turn, book, random, name, onWrong } = this.#options;
    const leaveAfter = this.#isLeaving ? random.between(1, 40) : Infinity;
    let last = after;
    let count = 0;
    for await (const frame of framesOf(body)) {
      if (frame.data === "[DONE]") return this.#end();
      turn.isAcknowledged = true;
      this.#frames.push(frame);
      const other = book.note(turn.conversation, frame);
      const { id = 0, data } = frame;
      if (other !== undefined) {
        onWrong("R2", `${name} of ${turn.script.marker}: frame ${id} is ${data}, and was ${other}`);
      }
      if (id <= last) onWrong("R2", `${name} of ${turn.script.marker}: ${id} follows ${last}`);
      last = id;
      if (++count < leaveAfter) continue;
      this.#isLeaving = false;
      noteIn(turn, `${name} leaves at ${id}`);
      await this.#promise();
      return "left";
    }
    noteIn(turn, `${name}: the stream ends without [DONE]`);
    await this.#promise();
    return "broken";
  }

  /** Checks a stream that ended with `[DONE]`. */
  async #end(): Promise<Ending> {
    const { turn, name, onWrong } = this.#options;
    const last = this.#frames.findLast((frame) => typeOf(frame) !== "message-metadata");
    noteIn(turn, `${name}: done with ${last?.data}`);
    if (!isTerminal(last)) onWrong("R9", `${turn.script.marker}: [DONE] follows ${last?.data}`);
    const { message, errors } = await foldFrames(this.#frames);
    for (const error of errors) onWrong("R2", `${name} of ${turn.script.marker}: ${error}`);
    const isWhole = last !== undefined && typeOf(last) === "finish";
    if (isWhole && waitingIn(message) === undefined) turn.answers.push({ who: name, message });
    await this.#promise();
    return "done";
  }

  /** Records the finished steps and tool outputs shown so far, which must not change any more. */
  async #promise(): Promise<void> {
    if (this.#frames.length === 0) return;
    const { turn } = this.#options;
    const finished = await foldFrames(finishedSteps(this.#frames));
    const { message } = await foldFrames(this.#frames);
    const outputs = new Map<string, string>();
    for (const part of message?.parts ?? []) {
      if (isToolUIPart(part) && part.state === "output-available") {
        outputs.set(part.toolCallId, JSON.stringify(part.output));
      }
    }
    turn.promises.push({ parts: finished.message?.parts ?? [], outputs });
  }

  /** True if the client has seen frames of the turn after its approval. */
  #isHeard(): boolean {
    return typeOf(this.#frames.at(-1) ?? { id: 0, data: '{"type":"finish"}' }) !== "finish";
  }

  /** True if the turn waits for an approval. Replays the message if the stream was gone. */
  async #waits(ending: Ending): Promise<boolean> {
    const { gate, turn } = this.#options;
    if (ending === "nothing") {
      try {
        const url = `${await gate.url()}/conversations/${turn.conversation}`;
        const replayed = await fetch(`${url}/stream?after=0`);
        if (replayed.status !== 200 || replayed.body === null) return false;
        this.#frames = [];
        for await (const frame of framesOf(replayed.body)) {
          if (frame.data !== "[DONE]") this.#frames.push(frame);
        }
      } catch {
        return true;
      }
    }
    // A turn that failed or was stopped no longer waits for an approval.
    const hasFailed = this.#frames.some((frame) => ["error", "abort"].includes(typeOf(frame)));
    return !hasFailed && waitingIn((await foldFrames(this.#frames)).message) !== undefined;
  }
}

/** True if the turn needs an approval. Without its client, such a turn keeps waiting. */
function asksSomebody({ script }: Turn): boolean {
  return script.steps.some(({ calls }) => calls.some((name) => TOOLS[name].needsApproval));
}

function waitingIn(message: UIMessage | undefined): string | undefined {
  for (const part of message?.parts ?? []) {
    if (isToolUIPart(part) && part.state === "approval-requested") return part.approval.id;
  }
  return undefined;
}

function post(url: string, body: object): Promise<Response> {
  return fetch(url, {
    method: "POST",
    headers: { accept: "text/event-stream", "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}
