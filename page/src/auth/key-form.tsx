import { useState } from "react";
import { Button } from "../controls.tsx";
import "./key-form.css";

interface KeyFormProps {
  /** True after the server refused a key. */
  readonly isWrong: boolean;
  /** The server's message about the refusal. */
  readonly reason: string;
  readonly enter: (key: string) => void;
}

/** Asks for the key of the server, or shows which setting it lacks. */
export function KeyForm({ isWrong, reason, enter }: KeyFormProps) {
  const [key, setKey] = useState("");
  // No key exists yet: the server's settings have to change first.
  if (reason.startsWith("AUTH")) {
    return (
      <main className="key">
        <div className="key-form">
          <h1 className="key-title">This server needs a setting</h1>
          <p className="key-text" role="alert">
            {reason}
          </p>
        </div>
      </main>
    );
  }
  return (
    <main className="key">
      <form
        className="key-form"
        onSubmit={(event) => {
          event.preventDefault();
          if (key.trim() !== "") enter(key.trim());
        }}
      >
        <h1 className="key-title">Byref</h1>
        <p className="key-text">
          This server requires a key. It is sent only to this server and forgotten when you close
          the tab.
        </p>
        <label htmlFor="key">Key</label>
        <input
          id="key"
          className="field"
          type="password"
          autoComplete="current-password"
          value={key}
          aria-invalid={isWrong}
          aria-describedby={isWrong ? "key-wrong" : undefined}
          onChange={({ target }) => setKey(target.value)}
        />
        {isWrong && (
          <p id="key-wrong" className="key-wrong" role="alert">
            This key is not valid.
          </p>
        )}
        <Button isMain type="submit" disabled={key.trim() === ""}>
          Sign in
        </Button>
      </form>
    </main>
  );
}
