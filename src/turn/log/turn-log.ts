import type { UIMessageChunk } from "ai";
import * as limits from "../../limits.ts";
import { News } from "../../value/news.ts";
import { strictJson } from "../../value/strict-json.ts";
import type { Journal, JournalEntry, TurnHead } from "./journal.ts";
import {
  attemptLine,
  entryLine,
  frameLine,
  readLog,
  type RecoveredLog,
  typeOf,
} from "./recovery.ts";

/** Frame ids are attempt × 1,000,000,000 + sequence. */
const ATTEMPT_FRAMES = 1_000_000_000;

/** One chunk of a turn's stream, the same for all watchers. */
export interface Frame {
  readonly id: number;
  readonly data: string;
}

/** The turn at which an attempt starts. */
export type StartedTurn = "new" | "waited" | "interrupted";

export interface TurnLogOptions {
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  /** Resolves when everything written so far survives a crash. Default: at once. */
  readonly durable?: (() => Promise<void>) | undefined;
}

/**
 * The frames of one turn, in order, stored once for any number of watchers. The turn never waits for a slow
 * watcher. The same text holds the entries that the turn needs to continue after a crash. Watchers see the
 * frames of a commit once the commit is durable. Other frames are written in groups.
 */
export class TurnLog {
  readonly #now: () => number;
  readonly #durable: (() => Promise<void>) | undefined;
  readonly #frames: Frame[] = [];
  readonly #news = new News();
  #journal: Journal | undefined;
  #pending = "";
  #writtenMs = 0;
  #attempt = 0;
  #sequence = 0;
  /** The number of frames that watchers may see. Later frames wait for the open commits. */
  #visible = 0;
  #openCommits = 0;
  #isEnded = false;
  /** Index of the first frame of the current request. Earlier frames are from before the turn waited. */
  firstOwn = 0;

  constructor({ now = Date.now, durable }: TurnLogOptions = {}) {
    this.#now = now;
    this.#durable = durable;
  }

  /**
   * Starts an attempt under this head, in one commit with the frames and changes of `work`: at a `new` turn, which
   * replaces the previous one, at one that has `waited`, or at one that was `interrupted`, which `recover` has restored.
   */
  start<Result>(journal: Journal, head: TurnHead, turn: StartedTurn, work: () => Result): Result {
    if (turn === "waited") {
      this.#restore(journal);
      this.firstOwn = this.#frames.length;
    }
    const { attempt } = head;
    const hasSurvived = turn === "interrupted" && journal.survives;
    this.#journal = journal;
    this.#writtenMs = this.#now();
    [this.#attempt, this.#sequence] = [attempt, 0];
    this.#pending += attemptLine({
      attempt,
      ...(turn === "waited" && { waited: true }),
      ...(hasSurvived && { survived: true }),
      ms: this.#writtenMs,
    });
    const append = (text: string) =>
      turn === "new" ? journal.begin(head, text) : journal.append(text, head);
    return this.#commit(work, append, true);
  }

  /** Restores a turn that a crash cut off, as far as it was written. */
  recover(journal: Journal): RecoveredLog {
    this.#journal = journal;
    const recoveredLog = this.#restore(journal);
    return journal.survives ? { ...recoveredLog, deaths: 0 } : recoveredLog;
  }

  /** The log of a turn that has ended or waits. */
  static ended(journal: Journal): TurnLog {
    const log = new TurnLog();
    log.#restore(journal);
    log.#isEnded = true;
    return log;
  }

  /** Creates a finished log of these chunks, with new ids. */
  static of(chunks: readonly UIMessageChunk[]): TurnLog {
    const log = new TurnLog();
    for (const chunk of chunks) log.#addFrame(strictJson(chunk));
    log.#visible = chunks.length;
    log.#isEnded = true;
    return log;
  }

  push(chunk: UIMessageChunk): void {
    const data = strictJson(chunk);
    this.#addFrame(data);
    this.#pending += frameLine(data);
    if (this.#openCommits > 0) return;
    this.#show();
    const journal = this.#journal;
    const isTime = this.#now() - this.#writtenMs >= limits.turnLogMs;
    if (journal === undefined || !(isTime || this.#pending.length >= limits.turnLogChars)) return;
    this.#write((text) => journal.append(text));
  }

  /** Adds a last chunk that cannot be written to the journal. */
  fail(chunk: UIMessageChunk): void {
    this.#addFrame(strictJson(chunk));
    if (this.#openCommits === 0) this.#show();
  }

  /** Records an entry that must survive a crash. `commit` writes it. */
  note(entry: JournalEntry): void {
    this.#pending += entryLine(entry);
  }

  /**
   * Writes the chunks, entries and changes of `work` as one commit, together with pending frames. Watchers
   * see later chunks when this commit is durable.
   */
  commit(work: () => void): void {
    this.#commit(work, (text) => this.#journal?.append(text));
  }

  /** Commits the end or a pause of the turn. `headOf` returns its head from what `work` has returned. */
  end<Result>(work: () => Result, headOf: (result: Result) => TurnHead): Result {
    return this.#commit(work, (text, ended) => this.#journal?.append(text, headOf(ended)), true);
  }

  /** Ends the log. No frame follows. */
  close(): void {
    this.#isEnded = true;
    if (this.#openCommits === 0) this.#wake();
  }

  get isEnded(): boolean {
    return this.#isEnded && this.#openCommits === 0;
  }

  get length(): number {
    return this.#visible;
  }

  /** The number of chunks that a client of the whole log receives. */
  get count(): number {
    return this.slice(0, 0).length;
  }

  /**
   * The frames from an index on, for a watcher that began at `first`. Of a turn that has waited, it receives one start and
   * one finish, as of one request.
   */
  slice(from: number, first: number, to = this.#visible): readonly Frame[] {
    const frames = this.#frames.slice(from, to);
    if (this.firstOwn === 0) return frames;
    return frames.filter(({ data }, index) => {
      const type = typeOf(data);
      if (type === "finish") return from + index >= this.firstOwn;
      return type !== "start" || from + index === first;
    });
  }

  /** The end index of a slice that starts at `from` and reaches `chars` characters. At least one frame. */
  endWithin(from: number, chars: number): number {
    let end = from;
    for (let sum = 0; end < this.#visible && sum < chars; end++) {
      sum += this.#frames[end]?.data.length ?? 0;
    }
    return end;
  }

  /** The index of the first frame after the one with this id. */
  indexAfter(id: number): number {
    // The id is from another conversation's log of this name, or made up. Its sender has seen no frame of
    // this one.
    if (id >= (this.#attempt + 1) * ATTEMPT_FRAMES) return 0;
    const index = this.#frames.findIndex((frame) => frame.id > id);
    return index < 0 ? this.#frames.length : index;
  }

  /** Resolves to true when there is something new, and to false after one to two times `patienceMs`. */
  waitForFrames(patienceMs: number): Promise<boolean> {
    return this.#news.wait(patienceMs);
  }

  #addFrame(data: string): void {
    const id = this.#attempt * ATTEMPT_FRAMES + ++this.#sequence;
    this.#frames.push({ id, data });
  }

  /** Restores frames and entries in the order in which they were written. */
  #restore(journal: Journal): RecoveredLog {
    const { lines, ...recoveredLog } = readLog(journal.read());
    for (const line of lines) {
      if (typeof line === "string") {
        this.#addFrame(line);
        continue;
      }
      if (line.waited === true) this.firstOwn = this.#frames.length;
      [this.#attempt, this.#sequence] = [line.attempt, 0];
    }
    this.#visible = this.#frames.length;
    return recoveredLog;
  }

  /** Commits `work`, and returns its result. With `isAtomic`, a failure undoes its writes. Otherwise they may remain. */
  #commit<Result>(
    work: () => Result,
    append: (text: string, result: Result) => void,
    isAtomic = false,
  ): Result {
    this.#openCommits++;
    const before = { frames: this.#frames.length, pending: this.#pending };
    let result!: Result;
    const both = () => {
      result = work();
      this.#write((text) => append(text, result));
    };
    let saving: Promise<void> | undefined;
    try {
      if (isAtomic && this.#journal !== undefined) this.#journal.atomically(both);
      else both();
      saving = this.#durable?.();
    } catch (error) {
      // Uncommitted frames are not shown.
      this.#frames.length = before.frames;
      this.#pending = before.pending;
      throw error;
    } finally {
      if (saving === undefined) this.#release();
    }
    // If saving fails, the object is gone, and its watchers never see uncommitted frames.
    saving?.then(() => this.#release()).catch(() => undefined);
    return result;
  }

  #release(): void {
    this.#openCommits--;
    if (this.#openCommits === 0) this.#show();
  }

  #write(append: (text: string) => void): void {
    append(this.#pending);
    this.#pending = "";
    this.#writtenMs = this.#now();
  }

  #show(): void {
    this.#visible = this.#frames.length;
    this.#wake();
  }

  #wake(): void {
    if (this.isEnded) this.#news.end();
    else this.#news.announce();
  }
}
