import { homedir } from "node:os";
import { join } from "node:path";

/** The platform's folder for a user's data, which may not exist yet. */
export function dataFolder(): string {
  const { LOCALAPPDATA, XDG_DATA_HOME } = process.env;
  switch (process.platform) {
    case "win32":
      return join(LOCALAPPDATA ?? join(homedir(), "AppData", "Local"), "byref");
    case "darwin":
      return join(homedir(), "Library", "Application Support", "byref");
    default:
      return join(XDG_DATA_HOME ?? join(homedir(), ".local", "share"), "byref");
  }
}
