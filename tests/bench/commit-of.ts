import { execFileSync } from 'node:child_process'

/** The commit of a checkout, as `ac1f3b87`, with `-dirty` where files differ from it. */
export function commitOf(checkout: string): string {
  const describe = ['describe', '--always', '--dirty', '--abbrev=8']
  return execFileSync('git', describe, { cwd: checkout, encoding: 'utf8' }).trim()
}
