import bcrypt from 'bcryptjs'

/** The task of a worker: hash at a cost, or compare with a hash. The input is 72 bytes at most. */
export type HashTask = { input: string } & ({ cost: number } | { hash: string })

/** The hash, or whether it is the right one. */
export default function work(task: HashTask): string | boolean {
  return 'hash' in task ? bcrypt.compareSync(task.input, task.hash) : bcrypt.hashSync(task.input, task.cost)
}
