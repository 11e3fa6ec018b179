/**
 * Calls `stop` on SIGINT, SIGTERM or SIGHUP, and when the process that started this one is gone (it holds
 * the other end of a channel). A Ctrl-C arrives more than once, from the terminal and from each parent.
 */
export function stopWithParent(stop: (reason: string) => void): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop(signal))
  process.on('disconnect', () => stop('disconnect'))
  // The channel alone must not prevent this process from ending.
  process.channel?.unref()
}
