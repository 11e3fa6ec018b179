import type { Schemas } from '@parley/client'
import { succeeded } from '@parley/client/parley-error'
import type { Command } from 'commander'
import { unwritable } from '../failure.ts'
import { paint, printable, say, sayJson } from '../output.ts'
import { connect } from '../profile.ts'
import { readJsonFile } from '../read-json-file.ts'
import { replaceFile } from '../replace-file.ts'

type Configuration = Schemas['Configuration']
type Change = Schemas['ImportPlan']['plan'][number]

export function addExport(program: Command): void {
  program
    .command('export')
    .argument('[file]', 'where to; standard output when left out')
    .description("write the workspace's configuration as JSON")
    .option('--secrets', 'with secrets as they are, for one who may write them')
    .action(async (file: string | undefined, { secrets, json }: { secrets?: true; json?: true }) => {
      const query = { secrets: secrets ? 'true' : 'false' } as const
      const configuration = await succeeded(connect().api.GET('/rest/export', { params: { query } }))
      const text = `${JSON.stringify(configuration, null, 2)}\n`
      if (file === undefined) return void process.stdout.write(text)
      writeOutput(file, text, { ownerOnly: secrets === true })
      if (json) sayJson({ file })
      else say(`Written to ${file}.`)
    })
}

function writeOutput(file: string, text: string, options: { ownerOnly: boolean }): void {
  try {
    replaceFile(file, text, options)
  } catch (error) {
    throw unwritable(file, error)
  }
}

export function addImport(program: Command): void {
  program
    .command('import')
    .argument('<file>', 'what export wrote, or - for standard input')
    .description('create and update documents; with --dry-run only show how they would differ')
    .option('--dry-run', 'change nothing')
    .action(importFile)
}

async function importFile(file: string, { dryRun, json }: { dryRun?: true; json?: true }): Promise<void> {
  const body = (await readJsonFile(file)) as Configuration
  const { api } = connect()
  const before = dryRun && !json ? await succeeded(api.GET('/rest/export')) : undefined
  const query = { dryRun: dryRun ? 'true' : 'false' } as const
  const { plan, summary } = await succeeded(api.POST('/rest/import', { params: { query }, body }))
  if (json) return sayJson({ dryRun: dryRun === true, summary, plan })
  for (const change of plan) if (change.action !== 'unchanged') showChange(change, { before, after: body })
  const { create, update, unchanged } = summary
  const tense = dryRun ? 'would be ' : ''
  say(`${create} ${tense}created, ${update} ${tense}updated, ${unchanged} unchanged.`)
}

interface Sides {
  before: unknown
  after: unknown
}

/** A document that changes: its fields before and after, as a diff has them. */
function showChange({ resource, _id, action, changes }: Change, sides: Sides): void {
  const isNew = action === 'create'
  say(paint(isNew ? 'green' : 'yellow', `${isNew ? '+' : '~'} ${resource}/${_id}`))
  const [before, after] = [sides.before, sides.after].map((side) => documentIn(side, resource, _id))
  const paths = isNew ? Object.keys(after ?? {}).map((key) => `/${key}`) : changes
  for (const path of paths) {
    const shown = printable(path)
    const [old, now] = [valueAt(before, path), valueAt(after, path)].map(valueText)
    if (!isNew && sides.before !== undefined && old !== undefined) say(paint('red', `  - ${shown} ${old}`))
    if (now !== undefined) say(paint('green', `  + ${shown} ${now}`))
  }
}

function documentIn(configuration: unknown, resource: string, id: number): object | undefined {
  const { resources } = (configuration ?? {}) as { resources?: Record<string, { _id: number }[]> }
  return resources?.[resource]?.find(({ _id }) => _id === id)
}

/** The value that a JSON Pointer leads to. */
function valueAt(document: object | undefined, path: string): unknown {
  const keys = path
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
  return keys.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined,
    document,
  )
}

const MAX_SHOWN = 200

function valueText(value: unknown): string | undefined {
  if (value === undefined) return undefined
  const text = printable(JSON.stringify(value))
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text
}
