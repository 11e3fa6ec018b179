import { TIMES, type Times } from '@parley/dispatcher/times'

/** Shorter times of the dispatcher: tests wait for what is looked for in vain, and for the next look. */
export const TEST_TIMES: Times = {
  ...TIMES,
  lookUpFor: 2_500,
  lookUpAgain: 250,
  statusCheck: 250,
  auditCheck: 250,
  auditBehind: 500,
  auditAgain: 200,
}
