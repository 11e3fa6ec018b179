import type { Traffic } from '../src/store/traffic.ts'

/** For tests that don't look at what is counted by the minute. */
export const noTraffic: Traffic = {
  accepted: () => {},
  moved: () => {},
  left: () => {},
  close: async () => {},
}
