import { join } from 'node:path'
import { CHECKOUT } from '@parley/local/checkout'
import { outputOf } from '../bench/processes.ts'

/** There and back: more than the default, fewer, the default. */
const NUMBERS = [64, 3, 16]

/** Changes the number of partitions, one change after the other; returns how long each took, in milliseconds. */
export async function changePartitions(options: {
  mongoUrl: string
  say(line: string): void
}): Promise<{ partitions: number; ms: number }[]> {
  const { mongoUrl, say } = options
  const command = join(CHECKOUT, 'services/dispatcher/src/change-partitions.ts')
  const changes: { partitions: number; ms: number }[] = []
  for (const partitions of NUMBERS) {
    const began = performance.now()
    await outputOf(process.execPath, [command, `${partitions}`], { MONGO_URL: mongoUrl, LOG_LEVEL: 'warn' })
    changes.push({ partitions, ms: performance.now() - began })
    say(`there are ${partitions} partitions`)
  }
  return changes
}
