import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { readSpec, runSpecTask } from '../../services/dispatcher/src/functions/spec-task.ts'

/** How many operations a spec has, how many of them are tools, and of the others the ids with the reasons. */
interface ToolCount {
  operations: number
  tools: number
  others: Map<string, string>
}

/** Counts what becomes of each operation of a spec, as if it were chosen alone. Throws where the spec can't be read. */
export function countTools(text: string): ToolCount {
  const spec = readSpec(text)
  const others = new Map<string, string>()
  for (const id of spec.found.keys()) {
    const task = { kind: 'tools', workspace: 1, key: 'k', spec: text, operations: [id] } as const
    const result = runSpecTask(task, () => spec)
    if (result.kind === 'tools' && result.tools.length > 0) continue
    others.set(
      id,
      result.kind === 'tools' ? String(result.broken[0]) : 'reason' in result ? result.reason : '',
    )
  }
  for (const { method, path, reason } of spec.unnamed) others.set(`${method} ${path}`, reason)
  const operations = spec.found.size + spec.unnamed.length
  return { operations, tools: operations - others.size, others }
}

/** `node tests/specs/count-tools.ts FILE…` prints the rows of the table in docs/assistants.md. */
if (import.meta.main)
  for (const file of process.argv.slice(2)) {
    const text = readFileSync(file, 'utf8')
    const { operations, tools, others } = countTools(text)
    const size = `${Math.ceil(text.length / 1024)} KiB`
    console.log(
      `| ${basename(file)} | ${size} | ${operations} | ${tools} | ${[...others.keys()].join(', ')} |`,
    )
    for (const [id, reason] of others) console.error(`${id}: ${reason}`)
  }
