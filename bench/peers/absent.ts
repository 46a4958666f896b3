/**
 * Replaces `just-bash`, which Think imports and does not install, and `cloudflare:email`, which plain workerd
 * lacks. The benches run no scripts and send no mail.
 */
export const Bash = undefined;
export const EmailMessage = undefined;
export const defineCommand = undefined;
