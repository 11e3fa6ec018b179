import { setImmediate as nextTurn } from 'node:timers/promises'
import { group } from '@parley/shared/group'

/** So many one after another are a rate at which more are about to come. */
const BUSY = 60
const TURNS = 10

/** Whether a batch of this process waits for more where more are about to come: with `LINGER_MS` 0 none does. */
export async function waitsForMore(): Promise<boolean> {
  let batches = 0
  const add = group<string, string>({
    work: async (items) => {
      batches++
      return items
    },
    atOnce: 1,
  })
  await Promise.all(Array.from({ length: BUSY }, () => add('x')))
  const before = batches
  const last = add('y')
  for (let turn = 0; turn < TURNS; turn++) await nextTurn()
  const waits = batches === before
  await last
  return waits
}
