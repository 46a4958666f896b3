import { useId, useState } from "react";
import "./door.css";

interface DoorProps {
  /** The key that was tried has not opened it. */
  readonly isWrong: boolean;
  /** Why the server refused, in its words. */
  readonly reason: string;
  readonly enter: (key: string) => void;
}

/** Asks for the key that the server wants. */
export function Door({ isWrong, reason, enter }: DoorProps) {
  const [key, setKey] = useState("");
  const field = useId();
  const note = useId();
  // No key exists yet: the server's settings have to change first.
  if (reason.startsWith("AUTH")) {
    return (
      <main className="door">
        <div className="door-form">
          <h1 className="door-title">This server needs a setting</h1>
          <p className="door-text" role="alert">
            {reason}
          </p>
        </div>
      </main>
    );
  }
  return (
    <main className="door">
      <form
        className="door-form"
        onSubmit={(event) => {
          event.preventDefault();
          if (key.trim() !== "") enter(key.trim());
        }}
      >
        <h1 className="door-title">Byref</h1>
        <p className="door-text">
          This server asks for a key. It is kept until the tab is closed, and sent to this server
          alone.
        </p>
        <label htmlFor={field}>Key</label>
        <input
          id={field}
          className="field"
          type="password"
          autoComplete="current-password"
          value={key}
          aria-invalid={isWrong}
          aria-describedby={isWrong ? note : undefined}
          onChange={({ target }) => setKey(target.value)}
        />
        {isWrong && (
          <p id={note} className="door-wrong" role="alert">
            This key does not open the door.
          </p>
        )}
        <button type="submit" className="button button-main" disabled={key.trim() === ""}>
          Come in
        </button>
      </form>
    </main>
  );
}
