import { TIMES, type Times } from '@parley/dispatcher/times'

/** The dispatcher's times in tests: shorter where they wait for what is looked for in vain. */
export const TEST_TIMES: Times = { ...TIMES, lookUpFor: 2_500, lookUpAgain: 250 }
