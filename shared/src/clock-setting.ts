const TOLERATED_MS = 1_000

/** How the machine's clock is set against the time that merely goes on, in milliseconds; see {@link wasClockSet}. */
export const clockSetting = (): number => Date.now() - performance.now()

/** Whether the clock was set since it had this setting, by more than a second; what carries its time is wrong then. */
export const wasClockSet = (since: number): boolean => Math.abs(clockSetting() - since) > TOLERATED_MS
