// Checks that every regular expression of the services takes time linear in its input: `npm run check` runs this.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { parse } from '@swc/core'
import { checkSync } from 'recheck'

interface Found {
  place: string
  source: string
  flags: string
}

const TIMEOUT_MS = 120_000
const LINEAR: string[] = ['safe', 'linear']

const files = execFileSync('git', ['ls-files', 'gateway/src/*', 'services/*/src/*', 'shared/src/*'], {
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => file.endsWith('.ts'))

const found = (await Promise.all(files.map(expressionsIn))).flat()
const seen = new Map(found.map((expression) => [`/${expression.source}/${expression.flags}`, expression]))
const findings = [...seen].flatMap(([text, { place, source, flags }]) => {
  const verdict = checkSync(source, flags, { timeout: TIMEOUT_MS })
  if (verdict.status === 'safe' && LINEAR.includes(verdict.complexity.type)) return []
  const reason = verdict.status === 'unknown' ? verdict.error.kind : verdict.complexity.summary
  return [`${place} ${text}: ${reason}`]
})
for (const finding of findings) console.error(finding)
console.log(`${seen.size} regular expressions, ${findings.length} not linear`)
if (findings.length > 0 || seen.size === 0) process.exitCode = 1

async function expressionsIn(file: string): Promise<Found[]> {
  const text = readFileSync(file)
  const tree = await parse(text.toString(), { syntax: 'typescript', target: 'es2024' })
  const expressions: Found[] = []
  visit(tree, (node) => {
    if (node.type === 'RegExpLiteral')
      expressions.push({ place: file, source: String(node.pattern), flags: String(node.flags) })
  })
  return expressions
}

function visit(node: unknown, each: (node: Record<string, unknown>) => void): void {
  if (typeof node !== 'object' || node === null) return
  if (!Array.isArray(node)) each(node as Record<string, unknown>)
  for (const inner of Object.values(node)) visit(inner, each)
}
