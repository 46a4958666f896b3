import { ByrefError } from "../../errors.ts";
import { type Elements, readElements, requireReadable } from "../../store/bytes/read-part.ts";
import type { ComputedVariable } from "../../store/variable-store.ts";
import type { OpenValue, VariableInfo } from "../../store/variable.ts";
import { deepFreeze, type Json, parsedJson } from "../../value/json.ts";
import type { Bounds, Path, Reading } from "../../value/path.ts";
import type { Work } from "../../value/work.ts";
import type { Compacted } from "./compaction.ts";
import type { History } from "./history.ts";
import { historyRecord, RECORDS_SHAPE } from "./history-record.ts";

type Messages = Pick<History, "between" | "questionsBetween">;

/**
 * The variable `$history`: the messages of the compacted turns as records, oldest first. Made of the stored
 * messages when it is read, a few at a time.
 */
export class HistoryVariable implements ComputedVariable {
  readonly info: VariableInfo;
  readonly compacted: Compacted;
  readonly #messages: Messages;

  constructor(messages: Messages, compacted: Compacted) {
    this.#messages = messages;
    this.compacted = compacted;
    const { variable, version, seq, turns, chars, bytes, isTainted } = compacted;
    const { createdAt, updatedAt } = compacted;
    this.info = {
      name: variable,
      version,
      type: "array",
      count: seq,
      bytes,
      chars,
      shape: RECORDS_SHAPE,
      preview: `Turns 1 to ${turns}`,
      mediaType: "application/json",
      description: "The earlier turns of this conversation, read-only.",
      createdAt,
      updatedAt,
      accessedAt: updatedAt,
      pinned: false,
      scope: "conversation",
      visibility: "model",
      sources: ["history"],
      trusted: !isTainted,
      location: "messages",
      readOnly: true,
    };
  }

  async readPath(path: Path, work: Work): Promise<Reading> {
    const { count, bytes } = this.info;
    const array: Elements = {
      count,
      work,
      slice: async (bounds) => this.#records(bounds, work),
      spans: () => this.#spans(work),
    };
    if (path.length > 0) return readElements(array, path);
    requireReadable(bytes);
    return { found: true, value: this.#records({ from: 0, to: count }, work) };
  }

  open(): OpenValue {
    const { info } = this;
    let texts = this.#texts();
    let part: Uint8Array = new Uint8Array();
    let start = 0;
    const read = async (from: number, to: number) => {
      if (from < start) [texts, part, start] = [this.#texts(), new Uint8Array(), 0];
      const bytes = new Uint8Array(Math.max(Math.min(to, info.bytes) - from, 0));
      for (let at = from; at < from + bytes.length;) {
        if (at < start + part.length) {
          const piece = part.subarray(at - start, from + bytes.length - start);
          bytes.set(piece, at - from);
          at += piece.length;
          continue;
        }
        const next = texts.next();
        if (next.done === true)
          throw new ByrefError(
            "conflict",
            `${info.name} changed while it was read; read it again.`,
          );
        start += part.length;
        part = new TextEncoder().encode(next.value);
      }
      return bytes;
    };
    return { info, read, close: () => undefined };
  }

  #records(bounds: Bounds, work: Work): readonly Json[] {
    const records: Json[] = [];
    let chars = 0;
    for (const text of this.#recordTexts(bounds)) {
      work.spend(text.length);
      chars += text.length;
      requireReadable(chars);
      records.push(parsedJson(text));
    }
    return deepFreeze(records);
  }

  async *#spans(work: Work): AsyncGenerator<readonly Json[]> {
    for (const text of this.#recordTexts()) {
      work.spend(text.length);
      yield [parsedJson(text)];
    }
  }

  /** The value as JSON text, in parts. */
  *#texts(): Generator<string> {
    let before = "[";
    for (const text of this.#recordTexts()) {
      yield `${before}${text}`;
      before = ",";
    }
    yield "]";
  }

  *#recordTexts({ from, to }: Bounds = { from: 0, to: this.info.count }): Generator<string> {
    let turn = this.#messages.questionsBetween(0, from);
    for (const { message } of this.#messages.between(from, to)) {
      if (message.role === "user") turn++;
      yield JSON.stringify(historyRecord(message, turn));
    }
  }
}
