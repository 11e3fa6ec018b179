import bcrypt from 'bcryptjs'

/**
 * What a worker does: hash at a cost, or compare with a hash. The input is 72 bytes at most. `startBy` is on the clock
 * of `process.hrtime`, which all threads share.
 */
export type HashTask = { input: string; startBy: bigint } & ({ cost: number } | { hash: string })

/** The hash, or whether it is the right one; undefined when it is too late to begin. */
export default function work(task: HashTask): string | boolean | undefined {
  if (process.hrtime.bigint() > task.startBy) return undefined
  return 'hash' in task ? bcrypt.compareSync(task.input, task.hash) : bcrypt.hashSync(task.input, task.cost)
}
