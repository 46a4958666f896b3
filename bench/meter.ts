/**
 * Counts, within a Worker, the writes of its objects and the prompts of its model. All objects of a Worker
 * share the count, so measure one conversation at a time. Off unless the binding `METER` is `on`, because
 * counting costs time.
 */

export interface Metered {
  /** As the platform bills them: setting an alarm counts as one row. */
  readonly rowsWritten: number;
  readonly alarms: number;
  /** The prompts sent to the model, call by call. */
  readonly prompts: readonly Prompt[];
}

/** The prompt of one model call. */
export interface Prompt {
  /** Including instructions. */
  readonly messages: string;
  readonly tools: string;
}

const counted = { rowsWritten: 0, alarms: 0 };
let prompts: Prompt[] = [];
let isOn = false;

export interface MeterEnv {
  readonly METER?: string | undefined;
  /** `on`: the compared objects have tools. */
  readonly TOOLS?: string | undefined;
}

/** Returns the same state, which counts writes from now on. */
export function metered(state: DurableObjectState, { METER }: MeterEnv): DurableObjectState {
  if (METER !== "on") return state;
  const { storage } = state;
  const { sql } = storage;
  const exec = sql.exec.bind(sql);
  // A write is done when `exec` returns; for several statements in one text, only the last is reported.
  const countedExec = (...parameters: Parameters<typeof exec>) => {
    const cursor = exec(...parameters);
    counted.rowsWritten += cursor.rowsWritten;
    return cursor;
  };
  Object.defineProperty(sql, "exec", { value: countedExec });
  Object.defineProperty(storage, "sql", { value: sql });
  watchAlarm(storage);
  watchPut(storage);
  watchPut(storage.kv);
  return state;
}

function watchAlarm(storage: DurableObjectStorage): void {
  const setAlarm = storage.setAlarm.bind(storage);
  Object.defineProperty(storage, "setAlarm", {
    value: (...parameters: Parameters<typeof setAlarm>) => {
      counted.alarms++;
      counted.rowsWritten++;
      return setAlarm(...parameters);
    },
  });
}

/** Counts one row for each key, for both forms of `put`: one entry and many. */
function watchPut(store: object): void {
  const put: unknown = Reflect.get(store, "put");
  if (typeof put !== "function") return;
  Object.defineProperty(store, "put", {
    value: (first: unknown, ...rest: readonly unknown[]): unknown => {
      counted.rowsWritten += typeof first === "string" ? 1 : Object.keys(Object(first)).length;
      return Reflect.apply(put, store, [first, ...rest]);
    },
  });
}

export function recordPrompt(prompt: () => Prompt): void {
  if (isOn) prompts.push(prompt());
}

/** `GET /bench/meter`: the counts since the last request. Undefined for other requests. */
export function answerMeter(request: Request, { METER }: MeterEnv): Response | undefined {
  isOn = METER === "on";
  if (new URL(request.url).pathname !== "/bench/meter") return undefined;
  const answer: Metered = { ...counted, prompts };
  counted.rowsWritten = counted.alarms = 0;
  prompts = [];
  return Response.json(answer);
}
