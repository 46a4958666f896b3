import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { ChoiceError } from "./choice-error.ts";
import { modelSettings } from "./model-settings.ts";

export interface Project {
  /** The folder to create. It must not exist, or be empty. Its last part names the project. */
  readonly folder: string;
  /** A folder of the templates. */
  readonly template: string;
  /** The value of the setting `MODEL`. `demo` needs no key and no network. */
  readonly model: string;
  /** The endpoint of an `openai-compatible` model. */
  readonly modelBaseUrl?: string | undefined;
  /** The version of `byref` that npm installs, or the path of a tarball. Default: as in the template. */
  readonly byref?: string | undefined;
}

/** Files that npm would leave out of a package under their own names. */
const RENAMED: Readonly<Record<string, string>> = { _gitignore: ".gitignore" };

/** Matches the name of a Worker, which becomes part of a host name. */
const NAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * Writes a project's files. They are written to a temporary folder, which is then renamed, so that the project is
 * complete or does not exist. Throws `ChoiceError`.
 */
export function createProject(project: Project, templates: string): void {
  const folder = resolve(project.folder);
  const name = basename(folder);
  const known = templateNames(templates);
  if (!known.includes(project.template)) {
    throw new ChoiceError(
      `There is no template "${project.template}". Choose one of: ${known.join(", ")}.`,
    );
  }
  if (!NAME.test(name)) {
    throw new ChoiceError(
      `"${name}" cannot name a project: use up to 63 lower-case letters, digits and hyphens, such as my-agent.`,
    );
  }
  if (existsSync(folder) && readdirSync(folder).length > 0) {
    throw new ChoiceError(`${folder} is not empty. Choose another name, or empty it first.`);
  }
  const settings = modelSettings(project);
  mkdirSync(dirname(folder), { recursive: true });
  const made = mkdtempSync(join(dirname(folder), `.${name}-`));
  try {
    cpSync(join(templates, project.template), made, { recursive: true });
    for (const [from, to] of Object.entries(RENAMED)) renameSync(join(made, from), join(made, to));
    nameIn(made, name);
    if (project.byref !== undefined) useByref(made, sourceFrom(project.byref, folder));
    if (settings !== "") writeFileSync(join(made, settingsFile(made)), settings, { mode: 0o600 });
    chmodSync(made, 0o777 & ~process.umask());
    moveTo(folder, made);
  } catch (error) {
    rmSync(made, { recursive: true, force: true });
    throw error;
  }
}

/**
 * Moves the project to its folder. An existing empty folder is filled, because the working directory cannot be
 * replaced.
 */
function moveTo(folder: string, made: string): void {
  if (!existsSync(folder)) return renameSync(made, folder);
  for (const name of readdirSync(made)) renameSync(join(made, name), join(folder, name));
  rmdirSync(made);
}

export function templateNames(templates: string): readonly string[] {
  return readdirSync(templates, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();
}

/** Workers read `.dev.vars`, Node reads `.env`. */
function settingsFile(folder: string): string {
  return existsSync(join(folder, "wrangler.toml")) ? ".dev.vars" : ".env";
}

function nameIn(folder: string, name: string): void {
  editJson<Manifest>(join(folder, "package.json"), (manifest) => ({ ...manifest, name }));
  editJson<Lock>(join(folder, "package-lock.json"), (lock) => {
    const { "": own, ...packages } = lock.packages;
    return { ...lock, name, packages: { "": { ...own, name }, ...packages } };
  });
  const path = join(folder, "wrangler.toml");
  if (!existsSync(path)) return;
  const config = readFileSync(path, "utf8");
  writeFileSync(path, config.replace(/^name = .*$/m, `name = "${name}"`));
}

/**
 * Returns the dependency for `byref`: for a tarball its path relative to the project's folder, otherwise the text
 * unchanged.
 */
function sourceFrom(byref: string, folder: string): string {
  if (!byref.endsWith(".tgz")) return byref;
  const path = resolve(byref.replace(/^file:/, ""));
  if (!existsSync(path)) throw new ChoiceError(`There is no file ${path}.`);
  return `file:${relative(folder, path)}`;
}

/** Replaces the source of `byref` in the three places that `npm ci` compares. */
function useByref(folder: string, byref: string): void {
  editJson<Manifest>(join(folder, "package.json"), (manifest) => withByref(manifest, byref));
  editJson<Lock>(join(folder, "package-lock.json"), (lock) => {
    const { "": own = {}, "node_modules/byref": locked, ...packages } = lock.packages;
    const { resolved: _, integrity: __, ...entry } = locked ?? {};
    const source = byref.startsWith("file:") ? { resolved: byref } : {};
    const replaced = { ...entry, ...source };
    return {
      ...lock,
      packages: { "": withByref(own, byref), "node_modules/byref": replaced, ...packages },
    };
  });
}

function withByref<Given extends Manifest>(manifest: Given, byref: string): Given {
  return { ...manifest, dependencies: { ...manifest.dependencies, byref } };
}

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

interface Lock {
  readonly packages: Readonly<Record<string, Manifest>>;
  readonly [field: string]: unknown;
}

function editJson<Content>(path: string, edit: (content: Content) => Content): void {
  // Trusted, because these are the templates' own files.
  const content = JSON.parse(readFileSync(path, "utf8")) as Content;
  writeFileSync(path, `${JSON.stringify(edit(content), null, 2)}\n`);
}
