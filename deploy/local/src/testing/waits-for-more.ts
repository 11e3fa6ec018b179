import { setImmediate as nextTurn } from 'node:timers/promises'
import { group } from '@parley/shared/group'

/** So many one after another are a rate at which more are about to come. */
const BUSY = 60
/** A stalled machine makes a pause look like a rest. */
const TRIES = 50

/** Returns true if batches of this process wait for more that is about to come; with `LINGER_MS` 0 none does. */
export async function waitsForMore(): Promise<boolean> {
  for (let attempt = 0; attempt < TRIES; attempt++) if (await aBatchWaits()) return true
  return false
}

async function aBatchWaits(): Promise<boolean> {
  const batches: string[][] = []
  const add = group<string, string>({
    work: async (items) => {
      batches.push(items)
      return items
    },
    atOnce: 1,
  })
  await Promise.all(Array.from({ length: BUSY }, () => add('x')))
  const first = add('y')
  await nextTurn()
  await nextTurn()
  await Promise.all([first, add('z')])
  return batches.at(-1)?.length === 2
}
