import { homedir, userInfo } from "node:os";
import { isAbsolute, join } from "node:path";

/**
 * The platform's folder for a user's data, which may not exist yet. Never below the working folder, which may be
 * somebody else's: a relative or empty path in the environment does not count.
 */
export function dataFolder(): string {
  const { LOCALAPPDATA = "", XDG_DATA_HOME = "" } = process.env;
  const home = isAbsolute(homedir()) ? homedir() : userInfo().homedir;
  const own = (path: string, ...usual: string[]) =>
    isAbsolute(path) ? path : join(home, ...usual);
  switch (process.platform) {
    case "win32":
      return join(own(LOCALAPPDATA, "AppData", "Local"), "byref");
    case "darwin":
      return join(home, "Library", "Application Support", "byref");
    default:
      return join(own(XDG_DATA_HOME, ".local", "share"), "byref");
  }
}
