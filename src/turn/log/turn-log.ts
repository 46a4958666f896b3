import type { UIMessageChunk } from "ai";
import * as limits from "../../limits.ts";
import type { Journal, JournalEntry, TurnHead } from "./journal.ts";
import {
  type AttemptLine,
  attemptLine,
  entryLine,
  frameLine,
  readLines,
  type RecoveredLog,
  typeOf,
} from "./log-lines.ts";

/** Ids count up from here: attempt × 1,000,000,000 + sequence. */
const ATTEMPT_FRAMES = 1_000_000_000;

/** One chunk of a turn's stream, as every watcher gets it. */
export interface Frame {
  readonly id: number;
  /** The chunk as JSON. */
  readonly data: string;
  /** Begins or ends what one request saw of a turn that had waited: nothing to those who see more. */
  readonly edge?: "start" | "finish";
}

export interface TurnLogOptions {
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  /** Resolves when all that was written until now will survive a crash. Default: it does at once. */
  readonly durable?: (() => Promise<void>) | undefined;
}

/**
 * The frames of one turn, in order, kept once however many watchers read them and however slowly: the turn
 * never waits for a watcher. Beside them, in the same text, what the turn needs to go on after a crash. What
 * watchers see of a commit point they see when it is durable; all else is written in groups.
 */
export class TurnLog {
  readonly #now: () => number;
  readonly #durable: (() => Promise<void>) | undefined;
  readonly #frames: Frame[] = [];
  #watchers: readonly Watcher[] = [];
  #timer: ReturnType<typeof setInterval> | undefined;
  #journal: Journal | undefined;
  #pending = "";
  #writtenMs = 0;
  #attempt = 0;
  #sequence = 0;
  /** Frames that watchers may see, and commits that the others wait for. */
  #visible = 0;
  #openCommits = 0;
  #isEnded = false;
  #firstOwn = 0;

  constructor({ now = Date.now, durable }: TurnLogOptions = {}) {
    this.#now = now;
    this.#durable = durable;
  }

  /** A new turn, in the place of the one before, with the frames that `work` pushes. One commit. */
  begin(journal: Journal, head: TurnHead, work: () => void): void {
    this.#open(journal, { attempt: head.attempt });
    this.#commit(work, (text) => journal.begin(head, text), true);
  }

  /** A turn that has waited goes on under a new attempt. One commit with what `work` does. */
  resume(journal: Journal, head: TurnHead, work: () => void): void {
    this.#restore(journal);
    this.#endRequest();
    this.#open(journal, { attempt: head.attempt, waited: true });
    this.#commit(work, (text) => journal.append(text, head), true);
  }

  /** A turn that a crash cut off, as far as it was written. */
  recover(journal: Journal): RecoveredLog {
    this.#journal = journal;
    const recoveredLog = this.#restore(journal);
    return journal.survives ? { ...recoveredLog, deaths: 0 } : recoveredLog;
  }

  /** The next attempt at a turn that was cut off. One commit with what `work` does. */
  retry(journal: Journal, head: TurnHead, work: () => void): void {
    const survived = journal.survives ? ({ survived: true } as const) : {};
    this.#open(journal, { attempt: head.attempt, ...survived });
    this.#commit(work, (text) => journal.append(text, head), true);
  }

  /** The log of a turn that has ended, or waits. */
  static ended(journal: Journal): TurnLog {
    const log = new TurnLog();
    log.#restore(journal);
    log.#isEnded = true;
    return log;
  }

  /** What was said once, with ids of its own. */
  static of(chunks: readonly UIMessageChunk[]): TurnLog {
    const log = new TurnLog();
    for (const chunk of chunks) log.#addFrame(JSON.stringify(chunk));
    log.#visible = chunks.length;
    log.#isEnded = true;
    return log;
  }

  push(chunk: UIMessageChunk): void {
    const data = JSON.stringify(chunk);
    this.#addFrame(data);
    this.#pending += frameLine(data);
    if (this.#openCommits > 0) return;
    this.#show();
    const journal = this.#journal;
    const isTime = this.#now() - this.#writtenMs >= limits.turnLogMs;
    if (journal === undefined || !(isTime || this.#pending.length >= limits.turnLogChars)) return;
    this.#write((text) => journal.append(text));
  }

  /** The last word, where it cannot be written down. */
  fail(chunk: UIMessageChunk): void {
    this.#addFrame(JSON.stringify(chunk));
    if (this.#openCommits === 0) this.#show();
  }

  /** Notes what a crash must not undo. Written by `commit`. */
  note(entry: JournalEntry): void {
    this.#pending += entryLine(entry);
  }

  /**
   * What `work` pushes, notes and saves is written as one commit, with the frames that wait. Watchers see
   * what is pushed from here on when this is durable.
   */
  commit(work: () => void): void {
    this.#commit(work, (text) => this.#journal?.append(text));
  }

  /** The same for the end, or for a pause: the head that `work` returns says which. */
  end(work: () => TurnHead): void {
    let head: TurnHead | undefined;
    const last = () => {
      head = work();
    };
    this.#commit(last, (text) => this.#journal?.append(text, head), true);
  }

  /** Rows that are going to be written at the end, for what is not written yet. */
  rowsToEnd(): number {
    return this.#journal?.rowsFor(this.#pending.length) ?? 0;
  }

  /** No frame follows. */
  close(): void {
    this.#isEnded = true;
    if (this.#openCommits === 0) this.#wake();
  }

  get isEnded(): boolean {
    return this.#isEnded && this.#openCommits === 0;
  }

  /** How many frames may be seen. */
  get length(): number {
    return this.#visible;
  }

  /** How many chunks a client that has seen all of it has. */
  get count(): number {
    return this.slice(0, 0).length;
  }

  /** Where the frames of the request begin that made this log; the others are of before it waited. */
  get firstOwn(): number {
    return this.#firstOwn;
  }

  /** The frames from this index on, for somebody who has begun to watch at `first`. */
  slice(from: number, first: number, to = this.#visible): readonly Frame[] {
    const frames = this.#frames.slice(from, to);
    if (this.#firstOwn === 0) return frames;
    return frames.filter(
      ({ edge }, index) => edge === undefined || (edge === "start" && from + index === first),
    );
  }

  /** The index behind the frames from this one on that are so many characters, or one that is more. */
  endWithin(from: number, chars: number): number {
    let end = from;
    for (let sum = 0; end < this.#visible && sum < chars; end++) {
      sum += this.#frames[end]?.data.length ?? 0;
    }
    return end;
  }

  /** The index of the first frame behind that of this id. */
  indexAfter(id: number): number {
    // Of another conversation's log of this name, or made up: whoever sends it has had none of this.
    if (id >= (this.#attempt + 1) * ATTEMPT_FRAMES) return 0;
    const index = this.#frames.findIndex((frame) => frame.id > id);
    return index < 0 ? this.#frames.length : index;
  }

  /** True when there is something new; false after one to two times `patienceMs`. */
  waitForFrames(patienceMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      this.#watchers = [...this.#watchers, { resolve, isLate: false }];
      // One timer for all, which goes on: frames come faster than timers are made.
      this.#timer ??= setInterval(() => this.#tick(), patienceMs);
    });
  }

  /** Whoever has waited for a whole tick is told so. */
  #tick(): void {
    const late = this.#watchers.filter(({ isLate }) => isLate);
    this.#watchers = this.#watchers.flatMap(({ resolve, isLate }) =>
      isLate ? [] : [{ resolve, isLate: true }],
    );
    for (const { resolve } of late) resolve(false);
    if (this.#watchers.length + late.length === 0) this.#stopTimer();
  }

  #stopTimer(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #open(journal: Journal, attempt: Omit<AttemptLine, "ms">): void {
    this.#journal = journal;
    this.#writtenMs = this.#now();
    this.#startAttempt(attempt.attempt);
    this.#pending += attemptLine({ ...attempt, ms: this.#writtenMs });
  }

  #startAttempt(attempt: number): void {
    this.#attempt = attempt;
    this.#sequence = 0;
  }

  #addFrame(data: string): void {
    const id = this.#attempt * ATTEMPT_FRAMES + ++this.#sequence;
    const isStart = this.#frames.length === this.#firstOwn && this.#firstOwn > 0;
    this.#frames.push({ id, data, ...(isStart ? { edge: "start" } : {}) });
  }

  /** Frames and entries as they were written, in order. */
  #restore(journal: Journal): RecoveredLog {
    const recoveredLog = readLines(journal.read(), {
      onFrame: (data) => this.#addFrame(data),
      onAttempt: ({ attempt, waited }) => {
        if (waited === true) this.#endRequest();
        this.#startAttempt(attempt);
      },
    });
    this.#visible = this.#frames.length;
    return recoveredLog;
  }

  #endRequest(): void {
    for (const [index, frame] of this.#frames.entries()) {
      if (typeOf(frame.data) === "finish") this.#frames[index] = { ...frame, edge: "finish" };
    }
    this.#firstOwn = this.#frames.length;
  }

  /** `isAtomic`: what fails leaves nothing of it. Else what `work` has written may stay. */
  #commit(work: () => void, append: (text: string) => void, isAtomic = false): void {
    this.#openCommits++;
    const before = { frames: this.#frames.length, pending: this.#pending };
    const both = () => {
      work();
      this.#write(append);
    };
    let saving: Promise<void> | undefined;
    try {
      if (isAtomic && this.#journal !== undefined) this.#journal.atomically(both);
      else both();
      saving = this.#durable?.();
    } catch (error) {
      // Nobody is shown what was not kept.
      this.#frames.length = before.frames;
      this.#pending = before.pending;
      throw error;
    } finally {
      if (saving === undefined) this.#release();
    }
    // If it fails the object is gone, and nobody sees what was not kept.
    saving?.then(() => this.#release()).catch(() => undefined);
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
    const watchers = this.#watchers;
    this.#watchers = [];
    for (const { resolve } of watchers) resolve(true);
    if (this.isEnded) this.#stopTimer();
  }
}

interface Watcher {
  readonly resolve: (isNews: boolean) => void;
  /** Waits for longer than a tick. */
  readonly isLate: boolean;
}
