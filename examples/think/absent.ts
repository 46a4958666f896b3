/** Replaces `just-bash`, which Think imports and does not install: this example runs no scripts. */
export const Bash = undefined;
export const defineCommand = undefined;
