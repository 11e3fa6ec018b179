/** A task for a process in the tests. */
export type ForeignTask =
  | 'pid'
  | 'environment'
  | 'spin'
  | 'serialise'
  | 'allocate'
  | 'match'
  | 'work'
  | { echo: unknown }

export default function work(task: ForeignTask): unknown {
  if (task === 'pid') return process.pid
  if (task === 'environment') return Object.keys(process.env)
  if (task === 'spin') for (;;);
  // Both run in native code, which can't be interrupted.
  if (task === 'serialise') return JSON.stringify(Array(1_000_000).fill('x'.repeat(10_000))).length
  if (task === 'match') return /^(a|a)*$/.test(`${'a'.repeat(60)}!`)
  if (task === 'allocate') for (const all: object[] = []; ; ) all.push({ a: [1, 2, 3] })
  if (task === 'work') return busyFor(150)
  return task.echo
}

/** Works for so many milliseconds of a processor. */
function busyFor(milliseconds: number): string {
  for (const before = process.threadCpuUsage(); ; ) {
    const { user, system } = process.threadCpuUsage(before)
    if ((user + system) / 1_000 >= milliseconds) return 'done'
  }
}
