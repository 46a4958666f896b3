import { useEffect, useRef, useState } from "react";

interface QueuedMessage {
  readonly id: number;
  readonly text: string;
}

export interface Queue {
  /** Oldest first. */
  readonly queued: readonly QueuedMessage[];
  readonly add: (text: string) => void;
  readonly remove: (id: number) => void;
  /** Sends this message now. Call only while nothing runs. */
  readonly sendNow: (message: QueuedMessage) => void;
}

interface QueueOptions {
  readonly isBusy: boolean;
  /** True after a stop, after a failure and while an approval is open. The user then decides what to send. */
  readonly isHeld: boolean;
  readonly send: (text: string) => void;
}

/** Queues messages sent during an answer, and sends them one by one when it ends. */
export function useQueue({ isBusy, isHeld, send }: QueueOptions): Queue {
  const [queued, setQueued] = useState<readonly QueuedMessage[]>([]);
  const lastId = useRef(0);
  // True between sending a message and the start of its answer.
  const isStarting = useRef(false);
  const remove = (id: number) => setQueued((all) => all.filter((one) => one.id !== id));
  const [next] = queued;
  useEffect(() => {
    if (isBusy) isStarting.current = false;
    if (isBusy || isHeld || isStarting.current || next === undefined) return;
    isStarting.current = true;
    setQueued((all) => all.filter((one) => one.id !== next.id));
    send(next.text);
  }, [isBusy, isHeld, next, send]);
  return {
    queued,
    add: (text) => {
      const id = ++lastId.current;
      setQueued((all) => [...all, { id, text }]);
    },
    remove,
    sendNow: (message) => {
      remove(message.id);
      send(message.text);
    },
  };
}
