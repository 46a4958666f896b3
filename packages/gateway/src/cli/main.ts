#!/usr/bin/env node
import module from "node:module";
import { join } from "node:path";
import { dataFolder } from "./data-folder.ts";

// The next start needs not compile the code again. Older versions of Node have no such cache.
if ("enableCompileCache" in module) module.enableCompileCache(join(dataFolder(), "compiled"));
const { runCommand } = await import("./command-line.ts");
await runCommand();
