/**
 * In place of `just-bash`, which Think imports and does not install, and of `cloudflare:email`, which plain
 * workerd does not have: nothing here runs scripts or sends mail.
 */
export const Bash = undefined;
export const EmailMessage = undefined;
export const defineCommand = undefined;
